#!/usr/bin/env bash
# archive.sh LOOM TARGET OUT: writes the release archive of a target into the folder OUT, with its checksum. It holds a folder with the
# program, completions, manual pages, licences and README, and has the name that `cargo binstall` and cargo-dist expect.
set -euo pipefail
loom=$(realpath "$1") name=loomtree-$2
mkdir -p "$3"
out=$(realpath "$3")
cd "$(dirname "$0")/../.."
rm -rf "target/archive/$name"
mkdir -p "target/archive/$name"
cp "$loom" README.md CHANGELOG.md LICENSE-* "target/archive/$name/"
cp -r target/assets/completions target/assets/man "target/archive/$name/"
tar -C target/archive -cJf "$out/$name.tar.xz" "$name"
(cd "$out" && { sha256sum "$name.tar.xz" 2>/dev/null || shasum -a 256 "$name.tar.xz"; } >"$name.tar.xz.sha256")
echo "archive: $name.tar.xz, $(du -h "$out/$name.tar.xz" | cut -f1)"
