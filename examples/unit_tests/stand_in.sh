#!/bin/sh
# stand_in.sh: what an agent said once, for those who have none: it reads a prompt and gives the reply of its phase.
# The tests that it writes first do not compile, its first repair expects what is not so, the second one is right.
here=$(dirname "$0")
prompt=$(cat)
phase=$(printf '%s\n' "$prompt" | sed -n 's/^\[ACTION\] //p' | head -n 1)
work_dir=$(printf '%s\n' "$prompt" | sed -n '/^\[WORK_DIR\]$/{n;p;}' | head -n 1)
repairs=$(printf '%s\n' "$prompt" | sed -n 's/^ *"retry_count": \([0-9]*\),*$/\1/p' | head -n 1)
write() {
  cp "$here/replies/$1" "$work_dir/test_words.c.new" && mv "$work_dir/test_words.c.new" "$work_dir/test_words.c"
}
sleep "${STAND_IN_SECONDS:-0}"
case $phase in
analysis)
  echo '{"status": "completed", "stateUpdates": {"analysis": "words_count, words_longest, words_nth; limits: no text, blanks alone, a word longer than its room"}, "summary": "three functions"}'
  ;;
generation)
  write generation.c && echo '{"status": "completed", "stateUpdates": {"files": ["test_words.c"]}, "summary": "nine checks"}'
  ;;
repair)
  [ -f "$here/replies/repair-$repairs.c" ] || repairs=2
  write "repair-$repairs.c" && echo '{"status": "completed", "stateUpdates": {"files": ["test_words.c"]}, "summary": "fixed"}'
  ;;
*) echo '{"status": "failed", "error": "a stand-in has no reply for this"}' ;;
esac
