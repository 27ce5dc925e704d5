#!/bin/bash
# planted.sh: plants one fault after the other (tests/planted/*.patch) in a copy of the tree, and sees
# whether the test that the patch names catches it. Called by `make planted`; ONLY=name takes those
# whose name holds it.
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
