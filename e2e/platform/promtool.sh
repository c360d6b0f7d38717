#!/usr/bin/env bash
# Prints the folder with promtool, which tests alerts: that of PATH, else Debian's, unpacked once and not installed, since
# the package would start a server.
set -euo pipefail
exec 3>&1 1>&2   # stdout carries the folder only
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

unpack() {
  [ ! -e "$out/promtool" ] || return 0
  local tmp; tmp=$(mktemp -d)
  say "fetching Debian's package prometheus"
  (cd "$tmp" && { apt-get -q download prometheus || { apt-get -q update && apt-get -q download prometheus; }; } && dpkg -x prometheus_*.deb .)
  mkdir -p "$out"
  mv "$tmp/usr/bin/promtool" "$out/promtool"   # last: an interrupted run leaves no entry
  rm -rf "$tmp"
}

if found=$(command -v promtool); then dirname "$found" >&3; exit; fi
out=$CACHE/bin/promtool-$DEBIAN_SUITE
[ -e "$out/promtool" ] || with_lock promtool unpack
echo "$out" >&3
