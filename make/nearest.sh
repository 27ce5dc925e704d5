#!/bin/bash
# nearest.sh: finds out which lines of the program each test runs (tests/nearest/record.c), and writes from it which tests
# are tried first when a line or a file has changed: tests/nearest.txt for files, and below build/nearest for lines; both of
# the full set, and of the quick one for the mutants.
#
# Called by `make nearest`. The records are below build/nearest; what is there is not made again: remove the folder for
# another state of the tree. A test is stopped after four minutes: what runs for longer has run its lines by then.
set -eu
export build=$PWD/build/nearest
mkdir -p "$build/of"
# shellcheck disable=SC2046 # words
${CC:-gcc} -O2 -Wall -Wextra -shared -fPIC $(pkg-config --cflags lua5.4) -o "$build/record.so" tests/nearest/record.c -ldl

# "SET NAME" of each test but the nightly ones; planted_spec finds lines by their text, and runs none
sets() {
  { find tests/c -name 'test_*.c' -printf '%f\n' | sed 's|\.c$||'; find tests -name '*_spec.lua' ! -name planted_spec.lua; } |
    LC_ALL=C sort | awk 'NR == FNR { set[$2] = $1; next } set[$1] != "nightly" { print (set[$1] ? set[$1] : "quick"), $1 }' tests/sets.txt -
}
programs=$(sets | sed -n 's|^[a-z]* \(test_.*\)|build/record/tests/\1|p')
# shellcheck disable=SC2086 # words
make -s -j2 MODE=record LDFLAGS="-L$build -Wl,--no-as-needed -l:record.so -Wl,-rpath,$build" all build/record/tests/agent_server \
  build/record/examples/embed/host build/record/examples/embed/game $programs

record() {
  out=$build/of/${1//\//_}
  [ -e "$out.txt" ] && return
  rm -f "$out"
  path=$1
  [ -e "$path" ] || path=build/record/tests/$1
  RECORD=$out LD_PRELOAD=$build/record.so LUA_INIT="package.loadlib('$build/record.so', 'luaopen_record')()" JOBS=1 \
    TEST_SECONDS=240 SKILLRT_MODE=record SKILLRT_BUILD=build/record LUA_PATH="./lua/?.lua;./lua/?/init.lua;./?.lua;;" \
    LUA_CPATH="$PWD/build/record/lib/?.so;;" lua5.4 tests/all.lua "$path" >"$out.log" 2>&1 || true
  head -c $((8 << 20)) "$out" | tail -c +9 | tr -d '\0' | sort -u >"$out.new"
  rm "$out"
  mv "$out.new" "$out.txt"
  grep -h "passed" "$out.log" | head -1
}
export -f record
sets | cut -d' ' -f2 | xargs -P "$(nproc)" -I TEST bash -c 'record TEST'

# "SET NAME SECONDS"
sets | while read -r set name; do
  echo "$set $name $(sed -n 's/.*(\([0-9.]*\) s of a processor).*/\1/p' "$build/of/${name//\//_}.log" | head -1)"
done >"$build/tests"
lua5.4 tests/nearest/choose.lua "$build/of" quick "$build/quick-lines.txt" <"$build/tests" >"$build/quick.txt"
lua5.4 tests/nearest/choose.lua "$build/of" full "$build/full-lines.txt" <"$build/tests" >tests/nearest.txt
