#!/bin/sh
# deb.sh: builds the Debian packages. Called by `make deb` with VERSION and CC.
#
# build/deb/skillrt holds a copy of make/debian; its rules call `make install` here, with Debian's flags. The packages are put into build/deb.
set -eu
top=$PWD
out=$top/build/deb
rm -rf "$out"
mkdir -p "$out/skillrt"
cp -R make/debian "$out/skillrt/debian"
cd "$out/skillrt"
# the project has no address of its own yet: whoever publishes the packages sets DEBEMAIL, as for all of Debian's tools
who="${DEBFULLNAME:-the skillrt founders} <${DEBEMAIL:-skillrt@localhost.localdomain}>"
sed -i "s|^Maintainer: .*|Maintainer: $who|" debian/control
cat >debian/changelog <<EOS
skillrt ($VERSION) unstable; urgency=medium

  * The changes are in CHANGELOG.md.

 -- $who  $(date -u -R -d "@${SOURCE_DATE_EPOCH:-$(git -C "$top" log -1 --format=%ct 2>/dev/null || date +%s)}")
EOS
env -u MAKEFLAGS -u MFLAGS TOP="$top" dpkg-buildpackage -b -us -uc -d >"$out/log" 2>&1 || {
  cat "$out/log"
  exit 1
}
cd "$out"
rm -rf skillrt build
if command -v lintian >/dev/null 2>&1; then
  unknown=
  [ -n "${DEBEMAIL:-}" ] || unknown=,bogus-mail-host,bogus-mail-host-in-debian-changelog
  lintian --allow-root --fail-on error,warning --suppress-tags "initial-upload-closes-no-bugs$unknown" ./*.deb
else
  echo "deb: lintian is not installed; the packages were not checked"
fi
for deb in *.deb; do
  printf '%s: %s bytes\n' "build/deb/$deb" "$(stat -c %s "$deb")"
done
