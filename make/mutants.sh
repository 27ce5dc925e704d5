#!/bin/bash
# mutants.sh: puts seeded faults of one line into copies of the tree, and sees how many `make test` catches where that line
# has changed (the quick set, the tests that join it, the simulator), and how many more the nearest tests of the full set
# (make/nearest.sh): the nearest first, up to the first that fails; says after each what rate it has.
#
# Called by `make mutants`; COUNT (200), SEED (1), MINUTES (60), PARTS (1): how many are tried at the same time, each in a
# tree of its own. Begun again with the same PARTS it goes on where it stopped; the folder build/mutants is of one state
# of the tree: remove it for another.
set -eu
build=build/mutants
folder=$PWD/$build
parts=${PARTS:-1}
lua_path="lua/?.lua;lua/?/init.lua;./?.lua;;"
lua_cpath="$PWD/build/release/lib/?.so;;"

quick() { LC_ALL=C sort | grep -vxFf <(sed -n 's/^\(full\|nightly\) \([^ ]*\).*/\2/p' tests/sets.txt); }
full() { LC_ALL=C sort | grep -xFf <(sed -n 's/^full \([^ ]*\).*/\1/p' tests/sets.txt); }
# the programs and specs of a set
tests_of() {
  find tests/c -name 'test_*.c' -printf '%f\n' | sed 's|\.c$||' | "$1" | sed "s|^|build/release/tests/|"
  find tests -name '*_spec.lua' ! -name planted_spec.lua | "$1" # that one finds lines by their text
}
run() {
  # shellcheck disable=SC2046 # paths without spaces
  LUA_PATH=$lua_path LUA_CPATH=$lua_cpath lua5.4 tests/mutants/run.lua "$1" "$folder" "$2" "$parts" $(tests_of quick) -- $(tests_of full)
}
each_part() {
  for part in $(seq 0 $((parts - 1))); do run "$1" "$part" & done
  wait
}

mkdir -p "$folder"
make -s -j2 all >"$folder/log" 2>&1 # what runs this tool
[ -e build/nearest/quick.txt ] || bash make/nearest.sh
[ -e "$folder/chosen" ] || run choose 0
for part in $(seq 0 $((parts - 1))); do
  touch "$folder/tried-$part" "$folder/later-$part"
  [ -d "$folder/tree-$part" ] && continue
  mkdir -p "$folder/tree-$part"
  git ls-files -z | xargs -0 cp --parents -pt "$folder/tree-$part"
  # a repository of its own, as some tests ask git what belongs to the tree
  (cd "$folder/tree-$part" && git init -q && git add -A >/dev/null && git -c user.name=m -c user.email=m@m commit -qm tree)
  make -s -j2 -C "$folder/tree-$part" all >>"$folder/log" 2>&1
done
[ -e "$folder/baseline" ] || run baseline 0
each_part try
run report 0
