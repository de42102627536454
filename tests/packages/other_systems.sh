#!/usr/bin/env bash
# Checks the program for Windows and macOS: other_systems.sh FOLDER. Prints `skip` and a reason if that cannot be done here.
#
# Debian's newest compiler comes with the source of the standard library, which cargo builds for each target. It runs in a
# root folder of its own (1.3 GB, removed at the end), so this needs root and a network. C code of dependencies is compiled
# by MinGW for Windows and left out for macOS: a check links nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p "$1"
root=$(realpath "$1")/root source=$PWD
skip() {
    echo "skip  $*"
    exit 0
}
[ "$(id -u)" = 0 ] || skip "only root can make a root folder for Debian's compiler"
command -v debootstrap >/dev/null || { apt-get update -qq && apt-get install -y -qq debootstrap; } >/dev/null 2>&1 || skip "debootstrap cannot be installed here"
# Mounts below the folder, the innermost first, as the kernel lists them.
mounts() { awk -v root="$root/" 'index($5, root) == 1 { print $5 }' /proc/self/mountinfo | sort -r; }
# Removes the folder, unless something is still mounted in it.
clean() {
    mounts | while read -r at; do umount -l "$at" || true; done
    [ -r /proc/self/mountinfo ] && [ -z "$(mounts)" ] && rm -rf "$root"
}
case $root in *[[:space:]]*) skip "the folder's name has a space" ;; esac
trap clean EXIT
clean || skip "something is mounted in $root"
packages=ca-certificates,rustc,cargo,rust-src,gcc-mingw-w64-x86-64-posix,gcc,libc6-dev
debootstrap --variant=minbase --include="$packages" sid "$root" http://deb.debian.org/debian >"$root.log" 2>&1 ||
    skip "Debian's compiler cannot be installed here: $(tail -n 1 "$root.log")"
cargo_home=${CARGO_HOME:-$HOME/.cargo}
bind() { mkdir -p "$1" "$root$2" && mount --bind "$1" "$root$2"; }
{ bind /proc /proc && bind /dev /dev && bind "$cargo_home/registry" /root/.cargo/registry && bind "$source" /source &&
    mount -o remount,bind,ro "$root/source" && cp /etc/resolv.conf "$root/etc/" &&
    cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"; } || skip "the folder cannot be set up here"
cat >"$root/compiler" <<'SCRIPT'
#!/bin/sh
# Stands for the C compiler and the archiver of macOS: makes empty files.
for word; do
    case $before:$word in -o:*) : >"$word" ;; *:*.a) : >"$word" ;; esac
    before=$word
done
SCRIPT
chmod +x "$root/compiler"
check() {
    chroot "$root" env -i "http_proxy=${http_proxy:-}" "https_proxy=${https_proxy:-}" HOME=/root PATH=/usr/bin:/bin RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=/tmp/target \
        CC_x86_64_apple_darwin=/compiler AR_x86_64_apple_darwin=/compiler SDKROOT=/ \
        /usr/bin/cargo check --quiet -Zbuild-std=std,panic_unwind "$@"
}
chroot "$root" env -i HOME=/root PATH=/usr/bin:/bin /usr/bin/cargo new --quiet /tmp/probe
for target in x86_64-pc-windows-gnu x86_64-apple-darwin; do
    check --manifest-path /tmp/probe/Cargo.toml --target "$target" >"$root.log" 2>&1 ||
        { echo "skip  the standard library for $target cannot be built here: $(tail -n 1 "$root.log")" && continue; }
    check --locked --manifest-path /source/Cargo.toml --target "$target"
    echo "ok    $target"
done
