#!/bin/sh
# postgres.sh: a PostgreSQL server of a test's own, on a socket in a folder of its own, for as long as standard input is
# open. Called with that folder, which must not be there, and settings as -c NAME=VALUE.
#
# When it answers, DIR/url holds its URL; where there is no server to start, DIR/none says why. DIR/restart starts it anew as
# after a crash; DIR/do executes one of its programs, as the server's user. Root becomes another user for it: the server refuses root. Called by postgres.h and postgres.lua.
set -u
dir=$1
shift
mkdir -p "$dir" || exit 1
none() {
  echo "$1" >"$dir/none.new" && mv "$dir/none.new" "$dir/none"
  cat >/dev/null
  rm -rf "$dir"
  exit 0
}
bin=
for one in /usr/lib/postgresql/*/bin "$(dirname "$(readlink -f "$(command -v initdb 2>/dev/null || echo /nowhere/x)")")"; do
  [ -x "$one/initdb" ] && bin=$one
done
[ -n "$bin" ] || none "no PostgreSQL server is installed here (Debian: postgresql)"
as=
if [ "$(id -u)" = 0 ]; then
  user=postgres
  id postgres >/dev/null 2>&1 || user=nobody
  as="setpriv --reuid=$user --regid=$(id -g $user) --clear-groups"
  chown "$user" "$dir"
fi
export LC_ALL=C
$as "$bin/initdb" -D "$dir/data" -U skillrt -A trust -E UTF8 --no-sync >"$dir/log" 2>&1 </dev/null ||
  none "initdb failed: $(tail -n 1 "$dir/log")"
settings="-k $dir -c listen_addresses= -c max_connections=200 -c fsync=off $*"
# A server that is started by it must not hold what its caller has open: our standard input would not end.
cat >"$dir/do" <<END
#!/bin/bash
for fd in /proc/\$\$/fd/*; do
  fd=\${fd##*/}
  [ "\$fd" -gt 2 ] && eval "exec \$fd>&-"
done
program=\$1
shift
exec $as "$bin/\$program" "\$@" </dev/null >/dev/null 2>&1
END
cat >"$dir/restart" <<END
#!/bin/bash
exec "$dir/do" pg_ctl -D "$dir/data" -s -w -t 30 -m immediate -l "$dir/data/log" -o "$settings" restart
END
chmod 755 "$dir/do" "$dir/restart"
ln -s "$bin/psql" "$dir/psql" # the one of Debian's PATH is a Perl script that looks for this one
$as "$bin/pg_ctl" -D "$dir/data" -s -w -t 30 -l "$dir/data/log" -o "$settings" start >"$dir/log" 2>&1 </dev/null ||
  none "the server did not start: $(tail -n 1 "$dir/data/log")"
echo "postgres://skillrt@/postgres?host=$dir" >"$dir/url.new" && mv "$dir/url.new" "$dir/url"
cat >/dev/null
$as "$bin/pg_ctl" -D "$dir/data" -s -m immediate stop >/dev/null 2>&1
rm -rf "$dir"
