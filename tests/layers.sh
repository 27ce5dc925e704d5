#!/bin/bash
# layers.sh: who may include and require whom: the floors of the house, checked.
#
# Prints each violation as file:line: text and exits 1. Called by `make lint`; the folder to look
# at may be given (tests do). C: a folder of csrc is a floor. Lua: see floor_of. A module may
# require its own floor and those below; what it may not see at all is said by name.
set -eu
cd "${1:-.}"

# file:line:what of every include of our own and of the libraries that have one home
includes() {
  find csrc -name '*.[ch]' -print0 | xargs -0 -r grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]' /dev/null |
    sed -E 's/^([^:]*:[0-9]*):[^<"]*[<"]([^>"]*)[>"].*/\1:\2/'
}

c_floors() {
  includes | awk -F: '
    function bad(why) { printf "%s:%s: %s\n", $1, $2, why; failed = 1 }
    function room(path) { sub(/^csrc\//, "", path); return path ~ /\// ? substr(path, 1, index(path, "/") - 1) : "top" }
    # may a file of floor `a` include a header of floor `b`?
    function may(a, b, header) {
      if (a == b || b == "base" || (a == "transport" && header == "jail/jail.h")) return 1
      if (a == "engine") return header == "store/store.h" || header == "transport/transport.h"
      if (a == "lua" || a == "top") return (b != "top" && b != "store") || header == "skillrt.h" || header == "store/store.h"
      return 0
    }
    {
      from = room($1); header = $3; file = $1
      if (header ~ /^(base|jail|store|transport|engine|lua|serve|sign)\// || header == "skillrt.h") {
        to = header == "skillrt.h" ? "top" : room("csrc/" header)
        if (!may(from, to, header) && !(header == "transport/host.h" && file ~ /^csrc\/engine\/(loop|transports)\.c$/)) bad("csrc/" from " must not include " header)
      }
      if (header ~ /^(lua|lauxlib|lualib)\.h$/ && from != "lua" && file !~ /^csrc\/(main|serve\/bind_server|sign\/bind_sign)\.c$/)
        bad(header " belongs to csrc/lua, serve/bind*, sign/bind*, main.c")
      if (header ~ /^openssl\// && from != "sign") bad(header " belongs to csrc/sign")
      if (header == "microhttpd.h" && from != "serve") bad(header " belongs to csrc/serve")
      if (header ~ /^curl\// && file !~ /^csrc\/transport\/http/)
        bad(header " belongs to csrc/transport/http*")
      if (header == "libpq-fe.h" && file !~ /^csrc\/store\/postgres/)
        bad(header " belongs to csrc/store/postgres*")
      if (header ~ /^uv(\/.*)?\.?h?$/ && from != "transport" && file !~ /^csrc\/(engine\/(crew|loop|runtime)[a-z_]*|store\/(watch|watch_runs|postgres_watch))\.[ch]$/)
        bad(header " belongs to csrc/transport, csrc/store/watch* and csrc/engine/crew, loop, runtime")
    }
    END { exit failed }'
}

# who sleeps: the loop, the pause of the world, the child that ends programs in time, and who calls a function that is a
# child's, as it would wait for its own
c_sleepers() {
  ! find csrc -name '*.c' ! -path csrc/engine/loop.c ! -path csrc/base/sys.c ! -path csrc/base/sys_leash.c ! -path csrc/lua/bind_guest.c -print0 2>/dev/null |
    xargs -0 -r grep -nE '(^|[^_a-z>.])(poll|ppoll|select|pselect|epoll_wait|epoll_pwait|nanosleep|usleep|sleep|uv_run)\(' /dev/null |
    sed 's/$/  (only csrc\/engine\/loop.c waits)/' | grep .
}

# every require "skillrt..." or require "strategies..." as file:line:module
requires() {
  find lua strategies -name '*.lua' -print0 2>/dev/null | xargs -0 -r grep -nE 'require' /dev/null |
    grep -vE '^[^:]*:[0-9]*:[[:space:]]*--' |
    sed -nE "s/^([^:]*:[0-9]*):.*require[[:space:]]*[( ]?[[:space:]]*[\"']([^\"']+)[\"'].*/\1:\2/p"
}

lua_floors() {
  requires | awk -F: '
    function bad(why) { printf "%s:%s: %s\n", $1, $2, why; failed = 1 }
    # a folder is a floor, low to high; a name that stands nowhere has to be given a place here first
    function floor_of(m) {
      if (m == "skillrt") return 8
      sub(/^skillrt\./, "", m); sub(/[._].*/, "", m)
      return m in floor ? floor[m] : 0
    }
    function put(level, names,  list, i) { split(names, list, " "); for (i in list) floor[list[i]] = level }
    BEGIN {
      put(1, "base")
      put(2, "expr")
      put(3, "agent skill tool")
      put(4, "mode")
      put(5, "run")
      put(6, "document")
      put(7, "report")
      put(8, "cli init test")
      # who may see the core: below the doors, only these
      split("base run report", list, " "); for (i in list) sees_core[list[i]] = 1
    }
    function may_see_core(m) { sub(/^skillrt\./, "", m); sub(/[._].*/, "", m); return m in sees_core }
    function module(path) {
      sub(/^lua\//, "", path); sub(/\.lua$/, "", path); sub(/\/init$/, "", path); gsub(/\//, ".", path)
      return path
    }
    {
      from = module($1); to = $3
      if ($1 ~ /^strategies\//) { bad("a strategy requires nothing, not " to); next }
      a = floor_of(from)
      if (!a) { bad(from " stands on no floor: give it one in tests/layers.sh"); next }
      if (to == "skillrt.core") {
        if (a < 8 && !may_see_core(from))
          bad(from " must not see skillrt.core: only base, run, report and the doors do")
      } else if (to ~ /^skillrt(\.|$)/) {
        b = floor_of(to)
        if (!b) bad(to " stands on no floor: give it one in tests/layers.sh")
        else if (b > a) bad(from " must not require upwards: " to)
        else if (from ~ /^skillrt\.tool(\.|$)/ && to ~ /^skillrt\.agent(\.|$)/)
          bad(from " must not know who uses it: " to)
      } else if (to ~ /^strategies?[.\/]/)
        bad(from " must ask skillrt.skill.strategy for a strategy, not require " to)
    }
    END { exit failed }'
}

# modules that require each other, lazily or not: each name of one in a string counts
lua_cycles() {
  local loop
  # shellcheck disable=SC2016  # the program is for awk
  loop=$(find lua -name '*.lua' -print0 2>/dev/null | xargs -0 -r awk '
    FNR == 1 { from = FILENAME; sub(/^lua\//, "", from); sub(/(\/init)?\.lua$/, "", from); gsub(/\//, ".", from) }
    /^[[:space:]]*--/ { next }
    {
      while (match($0, /["\047]skillrt\.[a-z0-9_.]*["\047]/)) {
        to = substr($0, RSTART + 1, RLENGTH - 2)
        if (to != from) print from, to
        $0 = substr($0, RSTART + RLENGTH)
      }
    }' | tsort 2>&1 >/dev/null) || ! printf 'modules require each other:\n%s\n' "$loop"
}

status=0
c_floors || status=1
c_sleepers || status=1
lua_floors || status=1
lua_cycles || status=1
exit $status
