#!/bin/sh
# review.sh: runs examples/review on a source tree (default: this one) and says where the report lies.
# Called by `make review` with the build folder; DIR names another tree, OUT another work folder.
set -eu
build=$1
out=${OUT:-$build/review}
script=examples/review/skill.lua
if [ ! -x "$build/skillrt" ] || [ ! -f "$script" ]; then
  echo "review: needs $build/skillrt and $script; one of them is not there" >&2
  exit 1
fi
rm -rf "$out"
if [ -n "${DIR:-}" ]; then
  "$build/skillrt" "$script" --work-dir "$out" --set "dir=$DIR"
else
  "$build/skillrt" "$script" --work-dir "$out"
fi
if [ ! -f "$out/report.md" ]; then
  echo "review: the run ended, but $out/report.md was not written; see: $build/skillrt log $out" >&2
  exit 1
fi
echo
sed -n '1,/^Checked/p' "$out/report.md"
echo
echo "The report lies in $out/report.md ($(grep -c '' "$out/report.md") lines)."
