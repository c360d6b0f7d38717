#!/usr/bin/env bash
# Builds the object store of tests from the Go module proxy, once for each state of store/, and prints the folder with it:
# versitygw, an S3 server that keeps its objects in a folder.
set -euo pipefail
exec 3>&1 1>&2   # stdout carries the folder only
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

build() {
  [ ! -e "$out/versitygw" ] || return 0
  find_go
  local log="$CACHE/log/store.log" tmp="$out.tmp"
  mkdir -p "$CACHE/log"; rm -rf "$tmp"; mkdir -p "$tmp"
  say "building versitygw (some 2 minutes the first time; log: $log)"
  (cd "$PLATFORM/store" && CGO_ENABLED=0 "$GO" build -trimpath -buildvcs=false -ldflags="-s -w" -o "$tmp/" \
    github.com/versity/versitygw/cmd/versitygw) >"$log" 2>&1 || { tail -20 "$log"; die "the Go build failed (log: $log)"; }
  mv "$tmp" "$out"   # last: an interrupted build leaves no entry
}

packages git ca-certificates
key=$({ tree_manifest "$PLATFORM/store"; cat "${BASH_SOURCE[0]}"; } | hash_of)
out=$CACHE/bin/store-$key
[ -e "$out/versitygw" ] || with_lock "store-$key" build
echo "$out" >&3
