#!/usr/bin/env bash
# Builds the Spark Operator from the Go module proxy, once for each state of tools/, and prints a folder with its
# program (image/spark-operator) and, out of the same module, its Helm chart with the CRDs (chart).
set -euo pipefail
exec 3>&1 1>&2   # stdout carries the folder only
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
MODULE=github.com/kubeflow/spark-operator/v2

build() {
  [ ! -d "$out" ] || return 0
  find_go
  local tmp="$out.tmp" log="$CACHE/log/spark-operator.log" source
  mkdir -p "$CACHE/log"; rm -rf "$tmp"; mkdir -p "$tmp/image"
  say "building the Spark Operator (log: $log)"
  go_build -ldflags='-s -w' -o "$tmp/image/spark-operator" "$MODULE/cmd/operator" >"$log" 2>&1 ||
    { tail -20 "$log"; die "the Go build failed (log: $log)"; }
  source=$(cd "$PLATFORM/tools" && "$GO" list -m -f '{{.Dir}}' "$MODULE")
  cp -r --no-preserve=mode "$source/charts/spark-operator-chart" "$tmp/chart"
  mv "$tmp" "$out"   # last: an interrupted build leaves no entry
  say "built $out"
}

packages git ca-certificates
key=$({ tree_manifest "$PLATFORM/tools" go.mod go.sum; cat "${BASH_SOURCE[0]}"; } | hash_of)
out=$CACHE/bin/spark-operator-$key
[ -d "$out" ] || with_lock "spark-operator-$key" build
echo "$out" >&3
