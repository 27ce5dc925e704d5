#!/bin/bash
# planted.sh: plants one fault after the other (tests/planted/*.patch) in a copy of the tree, and sees
# whether the test that the patch names catches it. Called by `make planted`; ONLY=name takes those
# whose name holds it.
#
# With ONLY=sim: those the simulator has to find within 60 s: the edits of tests/planted/sim (see edit.lua), and the
# patches that say "Found by: sim" below; says how long each took. EDIT='name name': those whose names hold one of these.
#
# A patch begins with two lines, "Fault: what" and "Caught by: tests/c/test_X.c", and may have a third,
# "Mode: tsan", for what only that build sees; the rest is a diff.
set -eu
build=$1
only=${ONLY:-}
copy=$build/planted
passed=0
failed=0

# One tree for all of them: what a patch does not touch is not built again.
rm -rf "$copy"
mkdir -p "$copy"
git ls-files -z | grep -zv '^tests/golden/' | xargs -0 cp --parents -pt "$copy"

# The test of a patch, built and run in the copy; fails where the fault is caught.
try() {
  local program=${2:+build/$2}
  program=${program:-$build}/tests/$1
  make -s -C "$copy" ${2:+"MODE=$2"} "$program" >"$copy/log" 2>&1 || return 2
  (cd "$copy" && timeout 300 "$program") >>"$copy/log" 2>&1
}

# Whether the simulator finds what was planted, in 60 s (SIM_SECONDS) of a processor: builds it in the copy, and says how long it took.
# A seed that fails in the tree itself, where nothing is planted, is none; those behind it are looked at.
simulate() {
  make -s -C "$copy" "$build/tests/simulate" >"$copy/log" 2>&1 || {
    echo "FAILED $1: could not be built"
    failed=$((failed + 1))
    return
  }
  local from=1 used=0 found most=${SIM_SECONDS:-60}
  while [ "$used" -lt "$most" ]; do
    (cd "$copy" && SIM_SEED=$from SIM_SECONDS=$((most - used)) SIM_FIRST=1 timeout 1200 "$build/tests/simulate") \
      >"$copy/log" 2>&1 || true
    used=$((used + $(sed -n 's/.* s, \([0-9]*\)\.[0-9] s of a processor.*/\1/p' "$copy/log")))
    found=$(sed -n 's/^not ok: sim SEED=\([0-9]*\):.*/\1/p' "$copy/log")
    [ -n "$found" ] || break
    if "$build/tests/simulate" "$found" >/dev/null 2>&1; then
      echo "found  $1 in $used s: $(grep -m 1 '^not ok' "$copy/log" | cut -c 1-150)"
      passed=$((passed + 1))
      return
    fi
    from=$((found + 1))
  done
  echo "FAILED $1: not found by the simulator in $used s"
  failed=$((failed + 1))
}

# Whether a fault is one of those that are asked for.
is_meant() {
  [ -n "${EDIT:-}" ] || return 0
  for word in $EDIT; do
    case $1 in *"$word"*) return 0 ;; esac
  done
  return 1
}

if [ "$only" = sim ]; then
  make -s "$build/tests/simulate"
  for edit in tests/planted/sim/*.edit; do
    is_meant "$(basename "$edit" .edit)" || continue
    if (cd "$copy" && lua5.4 tests/planted/edit.lua "$OLDPWD/$edit"); then
      simulate "$(basename "$edit" .edit)"
    else
      echo "FAILED $(basename "$edit" .edit): its text is not in one source"
      failed=$((failed + 1))
    fi
    diff -rq csrc "$copy/csrc" | sed -n 's/^Files \(.*\) and .*/\1/p' >"$copy/changed" || true
    diff -rq lua "$copy/lua" | sed -n 's/^Files \(.*\) and .*/\1/p' >>"$copy/changed" || true
    while read -r changed; do cp "$changed" "$copy/$changed"; done <"$copy/changed"
  done
  for patch in tests/planted/*.patch; do
    grep -q '^Found by: sim' "$patch" || continue
    is_meant "$(basename "$patch" .patch)" || continue
    patch -s -p1 -d "$copy" <"$patch" >/dev/null && simulate "$(basename "$patch" .patch)"
    patch -s -R -p1 -d "$copy" <"$patch"
  done
  rm -rf "$copy"
  echo "$passed found, $failed not"
  test "$failed" -eq 0
  exit
fi

for patch in tests/planted/*.patch; do
  name=$(basename "$patch" .patch)
  case $name in *"$only"*) ;; *) continue ;; esac
  program=$(sed -n 's/^Caught by: tests\/c\/\(.*\)\.c$/\1/p' "$patch")
  mode=$(sed -n '3s/^Mode: //p' "$patch")
  code=0
  if ! patch -s -p1 -d "$copy" <"$patch" >"$copy/log" 2>&1; then
    echo "FAILED $name: its patch does not fit"
    failed=$((failed + 1))
    continue
  fi
  try "$program" "$mode" || code=$?
  patch -s -R -p1 -d "$copy" <"$patch"
  if [ "$code" -eq 2 ] || [ "$code" -eq 0 ]; then
    echo "FAILED $name: $([ "$code" -eq 0 ] && echo "not caught by $program" || echo "could not be built")"
    failed=$((failed + 1))
  else
    echo "caught $name ($program${mode:+, $mode})"
    passed=$((passed + 1))
  fi
done
rm -rf "$copy"
echo "$passed caught, $failed not"
test "$failed" -eq 0
