#!/usr/bin/env bash
# wheel.sh PROGRAM OUT [OPTION…]: builds the wheel of the module with the program `loom` in it, into the folder OUT.
# PROGRAM is built by `cargo build --release`; the options are those of `maturin build`, such as `--release`.
set -euo pipefail
program=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
shift 2
cd "$(dirname "$0")"
rm -rf loomtree.data
mkdir -p loomtree.data/scripts
trap 'rm -rf loomtree.data' EXIT
install -m 755 "$program" loomtree.data/scripts/
case $program in
*.exe) ;;
*) strip "loomtree.data/scripts/$(basename "$program")" ;;
esac
maturin build --locked --out "$out" "$@"
