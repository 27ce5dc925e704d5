#!/bin/sh
# demo.sh: runs examples/review on a source tree (default: this one) and says where the report lies.
# Called by `make demo` with the build folder; DIR names another tree, OUT another work folder.
set -eu
build=$1
out=${OUT:-$build/demo}
script=examples/review/skill.lua
if [ ! -x "$build/skillrt" ] || [ ! -f "$script" ]; then
  echo "demo: needs $build/skillrt and $script; one of them is not there" >&2
  exit 1
fi
rm -rf "$out"
if [ -n "${DIR:-}" ]; then
  "$build/skillrt" "$script" --work-dir "$out" --set "dir=$DIR"
else
  "$build/skillrt" "$script" --work-dir "$out"
fi
if [ ! -f "$out/report.md" ]; then
  echo "demo: the run ended, but $out/report.md was not written; see: $build/skillrt log $out" >&2
  exit 1
fi
echo
sed -n '1,/^Checked/p' "$out/report.md"
echo
echo "The report lies in $out/report.md ($(wc -l <"$out/report.md") lines)."
