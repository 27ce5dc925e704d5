#!/bin/sh
# answered.sh SKILLRT SKILL ANSWER ... -- WORD ...: runs a skill, and answers its questions one after the other while it
# waits for them.
skillrt=$1 skill=$2 dir=$PWD/run-$$ n=0
shift 2
while [ "$1" != -- ]; do
  answers="$answers $1"
  shift
done
"$skillrt" run "$skill" --wait --quiet --work-dir "$dir" "$@" &
pid=$!
for answer in $answers; do
  n=$((n + 1))
  until "$skillrt" answer "$dir" "$n" "$answer" >/dev/null 2>&1; do
    kill -0 "$pid" 2>/dev/null || exit 1
    sleep 0.05
  done
done
wait "$pid"
