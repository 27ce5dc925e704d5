#!/bin/sh
# cover.sh: what part of each C file's lines the tests ran, from gcov. Called by `make cover`.
set -eu
find "$1/csrc" -name '*.gcda' | LC_ALL=C sort | xargs gcov -n 2>/dev/null | awk '
  /^File / { file = $0; gsub(/^File .|.$/, "", file) }
  /^Lines executed:/ && file ~ /^csrc\// && !(file in seen) {
    seen[file] = 1
    split(substr($0, 16), part, "% of ")
    printf "%6.1f%% of %5d  %s\n", part[1], part[2], file
    run += part[1] * part[2] / 100; all += part[2]
  }
  END { if (all) printf "%6.1f%% of %5d  all\n", 100 * run / all, all }'
