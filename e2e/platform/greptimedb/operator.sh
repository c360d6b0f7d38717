#!/usr/bin/env bash
# Builds greptimedb-operator and its initializer from the Go module proxy, once for each state of this folder, and prints a
# folder with them (image/operator, image/initializer) and, out of the same module, its manifests with the CRDs
# (manifests/bundle.yaml, manifests/crds.yaml). None of its code or YAML is in this repository: go.mod has the version.
set -euo pipefail
exec 3>&1 1>&2   # stdout carries the folder only
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
MODULE=github.com/GreptimeTeam/greptimedb-operator

build() {
  [ ! -d "$out" ] || return 0
  find_go
  local tmp="$out.tmp" log="$CACHE/log/greptimedb-operator.log" source
  mkdir -p "$CACHE/log"; rm -rf "$tmp"; mkdir -p "$tmp/image"
  say "building greptimedb-operator (some 2 minutes the first time; log: $log)"
  (cd "$PLATFORM/greptimedb" && CGO_ENABLED=0 "$GO" build -trimpath -buildvcs=false -ldflags='-s -w' -o "$tmp/image/" \
    "$MODULE/cmd/operator" "$MODULE/cmd/initializer") >"$log" 2>&1 || { tail -20 "$log"; die "the Go build failed (log: $log)"; }
  source=$(cd "$PLATFORM/greptimedb" && "$GO" list -m -f '{{.Dir}}' "$MODULE")
  cp -r --no-preserve=mode "$source/manifests" "$tmp/manifests"
  mv "$tmp" "$out"   # last: an interrupted build leaves no entry
  say "built $out"
}

packages git ca-certificates
key=$({ tree_manifest "$PLATFORM/greptimedb" go.mod go.sum; cat "${BASH_SOURCE[0]}"; } | hash_of)
out=$CACHE/bin/greptimedb-operator-$key
[ -d "$out" ] || with_lock "greptimedb-operator-$key" build
echo "$out" >&3
