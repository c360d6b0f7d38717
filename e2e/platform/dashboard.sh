#!/usr/bin/env bash
# Builds the program that judges Grafana dashboards, from Grafana's own schemas in the Go module proxy, and prints the folder with it.
set -euo pipefail
exec 3>&1 1>&2   # stdout carries the folder only
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

build() { # 13 s of CPU
  [ ! -e "$out/dashboard" ] || return 0
  find_go
  local log="$CACHE/log/dashboard.log" tmp="$out.tmp"
  mkdir -p "$CACHE/log"; rm -rf "$tmp"; mkdir -p "$tmp"
  say "building the judge of dashboards (log: $log)"
  (cd "$PLATFORM/dashboard" && CGO_ENABLED=0 "$GO" build -trimpath -buildvcs=false -o "$tmp/" .) >"$log" 2>&1 ||
    { tail -20 "$log"; die "the Go build failed (log: $log)"; }
  mv "$tmp" "$out"   # last: an interrupted build leaves no entry
}

packages git ca-certificates
key=$({ tree_manifest "$PLATFORM/dashboard"; cat "${BASH_SOURCE[0]}"; } | hash_of)
out=$CACHE/bin/dashboard-$key
[ -e "$out/dashboard" ] || with_lock "dashboard-$key" build
echo "$out" >&3
