#!/bin/sh
# deps.sh: finds out what of the given groups is missing and has apt install it.
#
# Called by `make deps` with groups: build test lint fuzz bench rock static arm64 deb bare pictures. A thing is looked for
# by using it, so a system that has it from elsewhere is left alone. On a system without apt it says
# what is missing and stops with 1. LUA, LUAPC, PKG and CC are those of the Makefile.
set -eu
LUA=${LUA:-lua5.4} LUAPC=${LUAPC:-lua5.4} PKG=${PKG:-pkg-config} CC=${CC:-gcc}

program() { command -v "${1%% *}" >/dev/null 2>&1; }
library() { program "$PKG" && "$PKG" --exists "$1" 2>/dev/null; }
module() { program "$LUA" && "$LUA" -e "require '$1'" >/dev/null 2>&1; }
archive() { program "$CC" && "$CC" -print-file-name="$1" | grep -q /; }
header() { program "$CC" && echo "#include <$1>" | $CC -E - >/dev/null 2>&1; }
server() { program "$1" || ls /usr/lib/postgresql/*/bin/"$1" >/dev/null 2>&1; }
file() { [ -e "$1" ]; }
runtime() { clang -print-file-name="libclang_rt.fuzzer-$(uname -m).a" 2>/dev/null | grep -q /; }

missing=
# need GROUP-PACKAGE PROBE NAME: the Debian package that gives NAME, if the probe finds none
need() {
  "$2" "$3" && return
  echo "deps: no $2 $3 (Debian package $1)"
  missing="$missing $1"
}

for group in "$@"; do
  case $group in
  build)
    need gcc program "$CC"
    need libc6-dev header stdio.h
    need make program make
    need pkg-config program "$PKG"
    need lua5.4 program "$LUA"
    need liblua5.4-dev library "$LUAPC"
    need libuv1-dev library libuv
    need libcurl4-openssl-dev library libcurl
    need libpq-dev library libpq
    need libmicrohttpd-dev library libmicrohttpd
    need libssl-dev library libcrypto
    need zlib1g-dev library zlib
    need libpcre2-dev library libpcre2-8
    need lua-zlib module zlib
    need lua-lpeg module lpeg
    need lua-yaml module lyaml
    need lua-cjson module cjson
    ;;
  test) # the demo and the specs run workflow scripts, and look at real sources with cppcheck and luacheck
    need lua-busted module busted
    need lua-check program luacheck
    need cppcheck program cppcheck
    need procps program ps
    need nodejs program node
    need git program git
    need openssl program openssl
    need tmux program tmux
    need postgresql server initdb # each test starts its own
    ;;
  lint)
    need clang-format program clang-format
    ;;
  fuzz)
    need clang program clang
    need libclang-rt-14-dev runtime libclang_rt.fuzzer
    ;;
  bench) # counts instructions, where a time would not be exact enough
    need valgrind program valgrind
    ;;
  rock)
    need luarocks program luarocks
    ;;
  static)
    need lua-lpeg-dev archive liblua5.4-lpeg.a
    need lua-yaml-dev archive liblua5.4-yaml.a
    need libyaml-dev archive libyaml.a
    need lua-cjson-dev archive liblua5.4-cjson.a
    ;;
  arm64) # its libraries are unpacked below build/arm64-root, not installed
    need gcc-aarch64-linux-gnu program aarch64-linux-gnu-gcc
    need libc6-dev-arm64-cross file /usr/aarch64-linux-gnu/include/stdio.h
    need qemu-user-static program qemu-aarch64-static
    ;;
  deb)
    need debhelper program dh
    need dpkg-dev program dpkg-buildpackage
    need lintian program lintian
    ;;
  bare)
    need debootstrap program debootstrap
    need wget program wget
    ;;
  pictures)
    need chromium program chromium
    need nodejs program node
    need fonts-dejavu-core file /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf
    ;;
  *)
    echo "deps: unknown group '$group': use build, test, lint, fuzz, bench, rock, static, arm64, deb, bare or pictures" >&2
    exit 2
    ;;
  esac
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
  echo "deps: this system has no apt-get, so nothing was installed. Install what the lines above" >&2
  echo "deps: name (Lua 5.4, libuv, libcurl, LPeg, lyaml, lua-cjson ...), then run make again." >&2
  exit 1
fi
if [ "$(id -u)" = 0 ]; then
  as_root="env"
elif command -v sudo >/dev/null 2>&1; then
  as_root='sudo env'
else
  echo "deps: neither root nor sudo here. As root, run: apt-get install$missing" >&2
  exit 1
fi
echo "deps: installing$missing"
as_root="$as_root DEBIAN_FRONTEND=noninteractive"
$as_root apt-get -q update || echo "deps: the package lists could not be refreshed; trying with the old ones" >&2
# shellcheck disable=SC2086 # a list of words
$as_root apt-get -q install -y --no-install-recommends $missing
