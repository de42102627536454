#!/usr/bin/env bash
# Makes FOLDER/pgbouncer, the newest PgBouncer of Debian with its libraries: pgbouncer.sh FOLDER. Prints `skip` and a reason if
# that cannot be done here. Nothing is installed: the packages are unpacked in the folder.
set -euo pipefail
mkdir -p "$1"
folder=$(realpath "$1")
skip() {
    echo "skip  $*"
    exit 0
}
command -v apt-get >/dev/null || skip "PgBouncer's packages are fetched by apt-get"
mkdir -p "$folder"/apt/{lists/partial,cache/archives/partial} "$folder/root"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian sid main" >"$folder/apt/sources.list"
: >"$folder/apt/status"
apt=(-o "Dir::Etc::SourceList=$folder/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$folder/apt/lists"
    -o "Dir::State::status=$folder/apt/status" -o "Dir::Cache=$folder/apt/cache" -o APT::Sandbox::User=root)
apt-get "${apt[@]}" -qq update >"$folder/log" 2>&1 || skip "Debian's packages cannot be listed here: $(tail -n 1 "$folder/log")"
libraries=$(apt-cache "${apt[@]}" depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
    --no-enhances pgbouncer | grep '^lib' | grep -v perl | sort -u)
(cd "$folder/apt/cache" && apt-get "${apt[@]}" -qq download pgbouncer $libraries) >"$folder/log" 2>&1 ||
    skip "PgBouncer cannot be fetched here: $(tail -n 1 "$folder/log")"
for package in "$folder"/apt/cache/*.deb; do dpkg-deb -x "$package" "$folder/root"; done
rm -r "$folder/apt"
cat >"$folder/pgbouncer" <<SCRIPT
#!/bin/sh
here=$folder/root/usr
libraries=\$(echo "\$here"/lib/*-linux-gnu)
exec "\$(echo "\$libraries"/ld-linux-*)" --library-path "\$libraries" "\$here/sbin/pgbouncer" "\$@"
SCRIPT
chmod +x "$folder/pgbouncer"
"$folder/pgbouncer" --version | head -n 1
