#!/bin/sh
# lint.sh: the checks of `make lint`, each told by one line; closes with "N passed, N failed".
# Called with the C files to look at. LUA and MODE come from the Makefile; SET=quick, from `make test`, leaves out cppcheck.
set -u
LUA=${LUA:-lua5.4}
passed=0 failed=0
log=$(mktemp)
trap 'rm -f "$log" "$log.c" "$log.md"' EXIT

# check NAME COMMAND...: runs it; its output is shown only when it fails
check() {
  name=$1
  shift
  if "$@" >"$log" 2>&1; then
    passed=$((passed + 1))
    echo "ok     $name"
  else
    failed=$((failed + 1))
    echo "FAILED $name"
    sed 's/^/  | /' "$log"
  fi
}

requirements_current() {
  $LUA tests/requirements.lua >"$log.md" || return 1
  cmp -s "$log.md" tests/requirements.md ||
    { echo "tests/requirements.md: out of date: run make requirements and commit it" && false; }
}
lua_files() {
  find lua strategies csrc tests bench examples -name '*.lua' 2>/dev/null | LC_ALL=C sort
}

printf '%s\n' "$@" >"$log.c"
mkdir -p build/luacheck build/cppcheck # what they know of files that have not changed
# shellcheck disable=SC2046 # a list of paths without blanks
check "luacheck" luacheck --quiet --no-color --cache build/luacheck $(lua_files)
check "clang-format" clang-format --dry-run -Werror "$@"
check "who may use whom (tests/layers.sh)" bash tests/layers.sh
check "tests/requirements.md is current" requirements_current
check "pages and messages use no word of make/words.txt" "$LUA" make/words.lua
# it takes as long as all the others together: not in the quick set
if [ "${SET:-}" != quick ] && command -v cppcheck >/dev/null 2>&1; then
  check "cppcheck" cppcheck --quiet --std=c11 -j 2 --cppcheck-build-dir=build/cppcheck --error-exitcode=1 --inline-suppr -Icsrc \
    --enable=warning,portability --suppress=missingIncludeSystem --suppress=identicalInnerCondition csrc
fi
if command -v shellcheck >/dev/null 2>&1; then
  check "shellcheck" shellcheck make/*.sh tests/layers.sh .ci/run
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
