#!/usr/bin/env bash
# release-test.sh makes a release for amd64 twice, in two folders, and compares every byte. Then it
# looks at the packages: what runs on install makes a user and nothing else; the configuration is a conffile; each unit
# is within 3.0 by systemd-analyze security; the signature is of these bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "release-test.sh: $*" >&2; exit 1; }

mkdir -p "$work/elsewhere/congctl"
tar --exclude=./.cache --exclude=./bin --exclude=./dist --exclude=node_modules -cf - . | tar -C "$work/elsewhere/congctl" -xf -
export ARCHS=amd64 SMALL=''
ssh-keygen -q -t ed25519 -N '' -C test -f "$work/key"
export SIGN_KEY=$work/key # signs without chance: Ed25519
tools/release.sh "$work/one"
"$work/elsewhere/congctl/tools/release.sh" "$work/two" >/dev/null
diff -r "$work/one" "$work/two" || fail "two builds of one commit differ"
(cd "$work/one" && sha256sum --quiet -c SHA256SUMS)
signed() { ssh-keygen -q -Y verify -f <(sed 's/^/release /' "$work/key.pub") -I release -n congctl-release -s "$work/one/SHA256SUMS.sig" >/dev/null 2>&1; }
signed <"$work/one/SHA256SUMS" || fail "the signature of SHA256SUMS is not of the key"
! sed 's/0/1/' "$work/one/SHA256SUMS" | signed || fail "the signature is of other bytes, too"

deb=$(echo "$work"/one/*.deb)
got=$(dpkg-deb --ctrl-tarfile "$deb" | tar -t | sort | tr '\n' ' ')
[ "$got" = "./conffiles ./control ./md5sums ./postinst ./postrm ./prerm " ] || fail "the deb's control archive has: $got"
dpkg-deb --ctrl-tarfile "$deb" | tar -xO ./conffiles | diff - <(echo /etc/congctl/congctl.yml) || fail "conffiles are others"
dpkg-deb -x "$deb" "$work/tree"
for page in congctl congctl-up congctl-host-kernel-fragment; do
	[ -s "$work/tree/usr/share/man/man1/$page.1.gz" ] || fail "no manual page $page"
done
! command -v man >/dev/null || MANROFFSEQ='' man --warnings -l "$work/tree/usr/share/man/man1/congctl-up.1.gz" >/dev/null
"$work/tree/usr/bin/congctl" version >/dev/null
! command -v rpm >/dev/null || ! rpm -qp --scripts "$work"/one/*.rpm | grep -E '^preinstall' || fail "the rpm has a script before install"
for unit in "$work"/tree/usr/lib/systemd/system/*.service; do
	! command -v systemd-analyze >/dev/null || systemd-analyze security --offline=true --threshold=30 "$unit" >"$work/security" ||
		fail "$(tail -n 1 "$work/security")"
done
echo "release: $(cd "$work/one" && stat -c '%n %s' -- *.deb *.rpm *.apk | tr '\n' ' ')"
