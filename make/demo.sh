#!/bin/sh
# demo.sh: runs examples/review on a source tree (default: this one) and says where the report lies.
# Called by `make demo` with the build folder; DIR names another tree, OUT another work folder.
set -eu
build=$1
tree=${DIR:-.}
out=${OUT:-$build/demo}
script=examples/review/skill.lua
if [ ! -x "$build/skillrt" ] || [ ! -f "$script" ]; then
  echo "demo: needs $build/skillrt and $script; one of them is not there" >&2
  exit 1
fi
rm -rf "$out"
mkdir -p "$out"
"$build/skillrt" "$script" --work-dir "$out" --set "input.dir=$tree"
if [ ! -f "$out/report.md" ]; then
  echo "demo: the run ended, but $out/report.md was not written; see: $build/skillrt log $out" >&2
  exit 1
fi
echo
echo "The report lies in $out/report.md ($(wc -l <"$out/report.md") lines)."
