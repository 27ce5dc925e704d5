#!/bin/sh
# demo.sh: what skillrt is for, in some seconds and without a key: a plain skill, a workflow of four agents that is
# killed in its middle and goes on, a question, a budget.
#
# Called by `make demo` with the build folder; OUT names another work folder. The agent is
# examples/stand_in.sh, which notes each question it was asked.
set -eu
build=$1
out=${OUT:-$build/demo}
skillrt=$build/skillrt
agent=examples/stand_in.sh
if [ ! -x "$skillrt" ] || [ ! -f "$agent" ]; then
  echo "demo: needs $skillrt and $agent; one of them is not there" >&2
  exit 1
fi
rm -rf "$out"
mkdir -p "$out"
STAND_IN_BOOK=$PWD/$out/asked
export STAND_IN_BOOK
XDG_STATE_HOME=$PWD/$out/state # what is trusted here is remembered here
export XDG_STATE_HOME
case $out in /*) STAND_IN_BOOK=$out/asked XDG_STATE_HOME=$out/state ;; esac
: >"$STAND_IN_BOOK"

say() { printf '\n-- %s\n' "$*"; }
show() {
  printf '$ skillrt'
  printf ' %s' "$@"
  printf '\n'
}
run() {
  show "$@"
  "$skillrt" "$@"
}
fail() {
  echo "demo: $*; see: $skillrt log $out" >&2
  exit 1
}

say "a plain SKILL.md, and what somebody wants of it"
run run examples/plain --agent "$agent" --agent-env STAND_IN_BOOK --quiet --work-dir "$out/plain" -- "explain fdatasync"

say "a workflow of four agents, killed after two answers"
: >"$STAND_IN_BOOK"
show run examples/workflow/opinions.js --trust --agent "$agent" --limit max_agents_parallel=1
STAND_IN_SECONDS=1 "$skillrt" run examples/workflow/opinions.js --trust --agent "$agent" --agent-env STAND_IN_BOOK \
  --agent-env STAND_IN_SECONDS --limit max_agents_parallel=1 --quiet --work-dir "$out/workflow" &
pid=$!
tries=0
while [ "$(grep -c '' "$STAND_IN_BOOK")" -lt 3 ]; do
  tries=$((tries + 1))
  [ "$tries" -lt 200 ] || fail "the workflow asked too little"
  sleep 0.1
done
kill -9 "$pid"
wait "$pid" 2>/dev/null || true
echo "killed by signal 9 while the third was asked"
show resume "$out/workflow" --decide retry
"$skillrt" resume "$out/workflow" --decide retry --quiet
again=$(sort "$STAND_IN_BOOK" | uniq -d | grep -c -v -F "$(sed -n 3p "$STAND_IN_BOOK")" || true)
echo "2 answers reused, $again calls repeated"
[ "$again" = 0 ] || fail "an answered agent was asked again"

say "a question to a person: the run waits without a process"
"$skillrt" run examples/workflow/opinions.js --trust --agent "$agent" --set ask:=true --quiet --work-dir "$out/question" </dev/null || true
run answer "$out/question" yes --quiet

say "a budget of two calls, then two more"
"$skillrt" run examples/workflow/opinions.js --trust --agent "$agent" --limit calls=2 --quiet --work-dir "$out/budget" || true
run resume "$out/budget" --add calls=2 --quiet

say "the last run as a page to look at"
run report "$out/budget"

printf '\nWhat each run did: skillrt status DIR and skillrt log DIR, for the folders in %s.\n' "$out"
printf 'The verdict lies in %s, the prompts and answers in its journal.\n' "$out/workflow/state.json"
