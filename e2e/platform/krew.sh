#!/usr/bin/env bash
# Builds krew's own validator of manifests from the Go module proxy, once for each state of krew/, and prints the folder with it.
set -euo pipefail
exec 3>&1 1>&2   # stdout carries the folder only
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

build() {
  [ ! -e "$out/validate-krew-manifest" ] || return 0
  find_go
  local log="$CACHE/log/krew.log" tmp="$out.tmp"
  mkdir -p "$CACHE/log"; rm -rf "$tmp"; mkdir -p "$tmp"
  say "building validate-krew-manifest (some 30 s the first time; log: $log)"
  (cd "$PLATFORM/krew" && CGO_ENABLED=0 "$GO" build -trimpath -buildvcs=false -ldflags="-s -w" -o "$tmp/" \
    sigs.k8s.io/krew/cmd/validate-krew-manifest) >"$log" 2>&1 || { tail -20 "$log"; die "the Go build failed (log: $log)"; }
  mv "$tmp" "$out"   # last: an interrupted build leaves no entry
}

packages git ca-certificates
key=$({ tree_manifest "$PLATFORM/krew"; cat "${BASH_SOURCE[0]}"; } | hash_of)
out=$CACHE/bin/krew-$key
[ -e "$out/validate-krew-manifest" ] || with_lock "krew-$key" build
echo "$out" >&3
