#!/bin/sh
# pictures.sh: screenshots of what people see of a run: the page of a report, a graph, the page of `skillrt serve` while
# the run goes on; light and dark, as wide as a screen and as a telephone.
#
# Called by `make pictures` with the build folder; OUT names another folder for them. The runs are real ones of the
# examples, whose agent is examples/stand_in.sh.
set -eu
build=$1
out=${OUT:-build/pictures}
skillrt=$PWD/$build/skillrt
rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$out/work
mkdir "$work"
XDG_STATE_HOME=$work/state STAND_IN_BOOK=$work/asked
export XDG_STATE_HOME STAND_IN_BOOK
: >"$STAND_IN_BOOK"
server='' running=''
finish() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  [ -z "$running" ] || kill "$running" 2>/dev/null || true
  wait
  rm -rf "$work"
}
trap finish EXIT

# picture NAME URL HEIGHT: light and dark, of 1100 and 420 pixels
picture() {
  for theme in light:1 dark:0; do
    for width in 1100 420; do
      file=$out/$1-${theme%:*}-$width.png
      timeout -s KILL 60 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/browser" \
        --blink-settings=preferredColorScheme="${theme#*:}" --window-size="$width,$3" --virtual-time-budget=8000 \
        --screenshot="$file" "$2" >"$work/log" 2>&1 || true
      [ -s "$file" ] || {
        cat "$work/log"
        echo "pictures: no picture of $2" >&2
        exit 1
      }
      echo "$file"
    done
  done
}

# drawn NAME PATH HEIGHT: its graph
drawn() {
  {
    printf '<!doctype html><meta name="color-scheme" content="light dark"><body style="margin:0">'
    "$skillrt" graph "$2" --trust --format svg
  } >"$work/$1.html"
  picture "graph-$1" "file://$work/$1.html" "$3"
}

runs=$work/runs
mkdir "$runs"
"$skillrt" run examples/workflow/opinions.js --trust --agent examples/stand_in.sh --quiet --work-dir "$runs/opinions"
"$skillrt" examples/sequential/skill.lua --quiet --work-dir "$runs/sequential"
"$skillrt" report "$runs/opinions" --html "$work/report.html" >"$work/log"
picture page "file://$work/report.html" 1400
drawn run "$runs/opinions" 700
drawn machine examples/machine/skill.lua 1100
drawn review examples/review 800

# in this shell's place, so that its end is the program's
(STAND_IN_SECONDS=40 exec "$skillrt" run examples/workflow/opinions.js --trust --agent examples/stand_in.sh \
  --agent-env STAND_IN_BOOK --agent-env STAND_IN_SECONDS --quiet --work-dir "$runs/live" >"$work/live.log" 2>&1) &
running=$!
"$skillrt" serve --runs "$runs" --listen 127.0.0.1:0 >"$work/said" &
server=$!
tries=0
until [ "$(grep -c '' "$STAND_IN_BOOK")" -gt 1 ] && grep -q 'listening at' "$work/said"; do
  tries=$((tries + 1))
  [ "$tries" -lt 300 ] || {
    echo "pictures: the run or the server did not begin" >&2
    exit 1
  }
  sleep 0.1
done
url=$(sed -n 's/^listening at \(.*\), token in .*/\1/p' "$work/said")
picture list "$url#token=$(cat "$runs/serve.token")" 700
picture live "$url#run=live&token=$(cat "$runs/serve.token")" 1000
