#!/bin/bash
# bare.sh: the two commands of the README on a Debian 12 that holds nothing else, then the specs of workflow scripts
# on its node and on newer ones of npm. Called by .ci/run, when `make static deb` has made what is tried; it has
# `bare.sh base FILE` make the bare system, with the packages of make/deps.sh downloaded and not installed, while its other
# stages run; MINBASE=FILE takes it.
#
# The root lies in memory (2 GB), in a mount and process namespace of its own: whatever ends this script, nothing
# stays mounted, running or lying about. With HOLD=FILE its tests begin when that file is gone: until then other tests
# may run beside it. Closes with "N passed, N failed"; without root or the mirror it is skipped.
set -eu
cd "$(dirname "$0")/.."
SUITE=bookworm NODES="22 24 26"

skip() {
  echo "bare root: skipped: $*"
  exit 0
}

[ "$(id -u)" = 0 ] || skip "needs root"

# The machine's own mirror and what it needs to reach it.
mirror=$(sed -nE 's/^URIs: *([^ ]*debian)\/? *$/\1/p; s/^deb (\[[^]]*\] )?([^ ]*debian)\/? .*/\2/p' \
  /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1)
mirror=${mirror:-http://deb.debian.org/debian}
eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
[ -z "${http_proxy:-}" ] || export http_proxy
wget -q --tries=2 --timeout=20 --spider "$mirror/dists/$SUITE/InRelease" || skip "no mirror: $mirror cannot be reached"

# debootstrap FOLDER LOG: the bare system
bootstrap() {
  debootstrap --variant=minbase "$SUITE" "$1" "$mirror" >"$2" 2>&1 || {
    cat "$2" "$1/debootstrap/debootstrap.log"
    exit 1
  }
}

if [ -z "${inside:-}" ]; then
  unshare --mount --pid --fork true 2>/dev/null || skip "this root may not mount"
  inside=yes exec unshare --mount --pid --fork --kill-child --mount-proc bash "$0" "$@"
fi

root=$(mktemp -d)
trap 'umount -R -l "$root"; rmdir "$root"' EXIT
mount -t tmpfs -o mode=755,dev,exec,suid tmpfs "$root"
if [ "${1:-}" = base ]; then
  bootstrap "$root/base" "$root/log"
  apt-config dump Acquire >"$root/base/etc/apt/apt.conf.d/machine"
  cp -L /etc/resolv.conf /etc/hosts "$root/base/etc/"
  # shellcheck disable=SC2046 # the groups build, test and lint name packages
  chroot "$root/base" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -c 'apt-get update && apt-get install -dy --no-install-recommends "$@"' sh \
    $(sed -n '/^  build)/,/^  fuzz)/s/^    need \([^ ]*\) .*/\1/p' make/deps.sh) >"$root/log" 2>&1 || cat "$root/log"
  tar -C "$root/base" -cf "$2.new" .
  mv "$2.new" "$2"
  exit
fi
if [ -s "${MINBASE:-}" ]; then
  tar -C "$root" -xf "$MINBASE"
else
  bootstrap "$root" "$root/log"
fi
mount -t proc proc "$root/proc"
if [ -c "$root/dev/null" ]; then
  mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
  mount -t tmpfs tmpfs "$root/dev/shm"
else
  mount --rbind /dev "$root/dev"
fi
apt-config dump Acquire >"$root/etc/apt/apt.conf.d/machine"
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
mkdir "$root/skillrt"
git ls-files -co --exclude-standard -z | tar -c --null --ignore-failed-read -T - | tar -x -C "$root/skillrt"
mkdir "$root/skillrt/build"
cp -R build/cppcheck "$root/skillrt/build/" 2>/dev/null || true # what it knows of files that are the same there

passed=0 failed=0
# in_root TITLE PATH COMMAND: runs it there, with nothing of our environment; is silent where it went well
in_root() {
  if env -i HOME=/root PATH="$2/usr/sbin:/usr/bin:/sbin:/bin" chroot "$root" sh -c "cd /skillrt && $3" \
    >"$root/log" 2>&1 </dev/null; then
    passed=$((passed + 1))
    echo "ok     $1: $(tail -n 1 "$root/log")"
  else
    failed=$((failed + 1))
    echo "FAILED $1"
    { grep -A 40 '^FAILED ' "$root/log" || true; tail -n 100 "$root/log"; } | sed 's/^/  | /'
  fi
}

# on_node VERSION PATH: what workflow scripts can do, and what breaks out of them
on_node() {
  in_root "workflow scripts on node $1" "$2" \
    "node --version && make test-lua SET=full SPECS='tests/run/workflow_spec.lua tests/run/workflow_escape_spec.lua tests/run/workflow_node_spec.lua'"
}

arch=$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')
for node in $NODES; do # mostly waits for the network
  npm install --no-audit --no-fund --silent --prefix "$root/opt/node$node" "node-linux-$arch@$node" &
  installs[node]=$!
done

cp -R build/release/static/skillrt examples build/deb "$root/mnt/"
in_root "the static program, copied alone" "" "cd /mnt && ./skillrt run examples/plain --agent examples/stand_in.sh \
  --work-dir plain -- x && ./skillrt run examples/hello/skill.lua --work-dir hello && ./skillrt check examples/plain"
in_root "the packages skillrt and lua-skillrt" "" "cd /mnt && apt-get update && apt-get install -y --no-install-recommends \
  ./deb/skillrt_*.deb ./deb/lua-skillrt_*.deb && skillrt run examples/hello/skill.lua --work-dir deb && skillrt check examples/plain && \
  lua5.4 -e 'print(require \"skillrt\".version)' && apt-get purge -y skillrt lua-skillrt"
in_root "make demo" "" "apt-get install -y make && make demo"
while [ -e "${HOLD:-}" ]; do sleep 1; done
in_root "make test" "" "make test SIM_SEED=1 SIM_SECONDS=1" # the stages before had minutes of it
in_root "the package libskillrt-dev" "" "apt-get install -y --no-install-recommends /mnt/deb/libskillrt-dev_*.deb && \
  gcc examples/embed/host.c \$(pkg-config --cflags --libs skillrt) -o /mnt/host && /mnt/host examples/embed/count.lua /mnt/hosted"
on_node "18 of Debian" ""
for node in $NODES; do
  if wait "${installs[node]}"; then
    on_node "$node" "/opt/node$node/node_modules/node-linux-$arch/bin:"
  else
    echo "FAILED node $node: npm cannot install node-linux-$arch@$node"
    failed=$((failed + 1))
  fi
done
du -xsh "$root" | sed 's/\t.*/ of memory were used/'
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
