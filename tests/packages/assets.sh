#!/usr/bin/env bash
# assets.sh LOOM DIR: writes the completions and manual pages that packages contain, and checks that they are usable and
# that the Debian package lists each of them.
set -euo pipefail
loom=$(realpath "$1") assets=$2
cd "$(dirname "$0")/../.."
rm -rf "$assets"
mkdir -p "$assets/completions" "$assets/man"
"$loom" completions bash >"$assets/completions/loom.bash"
"$loom" completions zsh >"$assets/completions/_loom"
"$loom" completions fish >"$assets/completions/loom.fish"
"$loom" man --out "$assets/man"

bash -n "$assets/completions/loom.bash"
# The completion of bash completes: a prefix of a command has it among its answers.
bash -c 'source "$1"; COMP_WORDS=(loom sam) COMP_CWORD=1; _loom loom sam loom; printf "%s\n" "${COMPREPLY[@]}"' - \
    "$assets/completions/loom.bash" | grep -qx sample
for command in $("$loom" --help | awk '/^  [a-z]/ {print $1}' | grep -vx help); do
    [ -s "$assets/man/loom-$command.1" ] || { echo "no manual page for $command"; exit 1; }
done
for file in "$assets"/completions/*; do
    grep -q "target/assets/completions/$(basename "$file")\"" Cargo.toml || { echo "the Debian package lacks $file"; exit 1; }
done
echo "assets: $(ls "$assets/man" | wc -l) manual pages, $(ls "$assets/completions" | wc -l) completions"
