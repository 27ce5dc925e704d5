#!/bin/sh
# arm64.sh: builds the static program for ARM64 on another machine, and runs a skill with it. Called by `make static-arm64`.
#
# The libraries are Debian's for arm64: apt downloads them without touching the system, and they are
# unpacked into build/arm64-root. Exits with 75 where they cannot be reached.
set -eu
top=$PWD
out=$top/build/arm64
root=$top/build/arm64-root

if [ ! -e "$root/done" ]; then
  apt=$out/apt
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$root"
  : >"$apt/status"
  get() {
    apt-get -q -o Dir::State="$apt" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" \
      -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root "$@" >>"$apt/log" 2>&1 || {
      tail -n 20 "$apt/log" >&2
      exit 75 # for now: they may be reached another time
    }
  }
  get update
  get install -y --download-only --no-install-recommends libc6-dev liblua5.4-dev libuv1-dev libcurl4-openssl-dev \
    libpq-dev libmicrohttpd-dev libssl-dev zlib1g-dev libpcre2-dev lua-lpeg-dev lua-yaml-dev libyaml-dev lua-cjson-dev
  for package in "$apt"/cache/archives/*.deb; do
    dpkg-deb -x "$package" "$root"
  done
  rm -rf "$apt"
  : >"$root/done"
fi

# a ccache in front of the compiler stays in front
case ${CC:-} in ccache*) cache=ccache ;; *) cache= ;; esac
env -u MAKEFLAGS -u MFLAGS PKG_CONFIG_SYSROOT_DIR="$root" PKG_CONFIG_LIBDIR="$root/usr/lib/aarch64-linux-gnu/pkgconfig" \
  make -s static BUILD=build/arm64 LUA="${LUA:-lua5.4}" FOR=build CC="$cache aarch64-linux-gnu-gcc --sysroot=$root" \
  AR=aarch64-linux-gnu-ar OBJCOPY=aarch64-linux-gnu-objcopy

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
skillrt() { QEMU_LD_PREFIX=$root qemu-aarch64-static "$out/static/skillrt" "$@"; }
skillrt --version
cd "$tmp"
cat >arm.lua <<'EOS'
local skillrt = require "skillrt"
return skillrt.skill { name = "arm", actions = { { id = "ask", run = function(_, ctx)
  local reply = assert(ctx.await { kind = "command", argv = { "echo", "a program answers" } })
  ctx.log(reply.stdout)
  local none, message = ctx.await { kind = "http", url = "http://127.0.0.1:9/" }
  ctx.log("http: " .. (none and "" or message))
end } } }
EOS
skillrt arm.lua --work-dir run
skillrt log run | grep 'a program answers'
skillrt log run | grep 'http: .*refused\|http: .*connect'
skillrt status run | grep 'completed (task_completed)'
