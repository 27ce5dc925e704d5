#!/bin/sh
# stand_in.sh: an agent that needs no key: it answers any prompt with a line made of it.
#
# What it was asked is noted in the file STAND_IN_BOOK, so that one sees whether anything was asked twice;
# STAND_IN_SECONDS is how long it thinks.
prompt=$(cat)
task=$(printf '%s\n' "$prompt" | sed -n 's/^\[TASK\] *//p' | head -n 1)
words=${task:-$(printf '%s\n' "$prompt" | head -n 1)}
[ -z "${STAND_IN_BOOK:-}" ] || printf '%s\n' "$words" >>"$STAND_IN_BOOK"
sleep "${STAND_IN_SECONDS:-0}"
case $prompt in
*'"verdict"'*) echo '{"verdict": "sound", "reason": "a stand-in finds no fault"}' ;;
*) printf 'A stand-in answers: %s\n' "$words" ;;
esac
