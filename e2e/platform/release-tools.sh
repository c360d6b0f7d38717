#!/usr/bin/env bash
# Builds one of the programs of releases from the Go module proxy, once for each state of its folder, and prints the folder with it.
#   release-tools.sh actionlint | cosign | registry | syft
set -euo pipefail
exec 3>&1 1>&2   # stdout carries the folder only
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
declare -A PACKAGES=(   # and how long it takes the first time, on two busy cores
  [actionlint]=github.com/rhysd/actionlint/cmd/actionlint      # seconds
  [cosign]=github.com/sigstore/cosign/v3/cmd/cosign            # 3 minutes
  [registry]=.                                                 # seconds
  [syft]=github.com/anchore/syft/cmd/syft                      # 6 minutes
)
program=${1:-}
package=${PACKAGES[${program:-none}]:-}
[ "$package" ] || die "one of: ${!PACKAGES[*]}"

build() {
  [ ! -e "$out/$program" ] || return 0
  find_go
  local log="$CACHE/log/$program.log" tmp="$out.tmp"
  mkdir -p "$CACHE/log"; rm -rf "$tmp"; mkdir -p "$tmp"
  say "building $program (log: $log)"
  (cd "$PLATFORM/release-tools/$program" && CGO_ENABLED=0 "$GO" build -trimpath -buildvcs=false -ldflags="-s -w" -o "$tmp/" "$package") \
    >"$log" 2>&1 || { tail -20 "$log"; die "the Go build failed (log: $log)"; }
  mv "$tmp" "$out"   # last: an interrupted build leaves no entry
}

packages git ca-certificates
key=$({ tree_manifest "$PLATFORM/release-tools/$program"; cat "${BASH_SOURCE[0]}"; } | hash_of)
out=$CACHE/bin/$program-$key
[ -e "$out/$program" ] || with_lock "$program-$key" build
echo "$out" >&3
