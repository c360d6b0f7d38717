#!/usr/bin/env bash
# Prints the path of the pinned uv; installs it once into the user's cache.
set -euo pipefail
cd "$(dirname "$0")"
cache=${SEAWALL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/seawall}
home=$cache/uv/$(sha256sum uv.lock | cut -c1-16)
if [ ! -x "$home/bin/uv" ]; then
  mkdir -p "$cache/uv"
  # Debian splits venv from python3; a fresh machine lacks it.
  python3 -c 'import ensurepip' 2>/dev/null || { apt-get update -qq; apt-get install -y -qq --no-install-recommends python3-venv; } >&2
  made=$(mktemp -d "$cache/uv/new.XXXXXX")
  python3 -m venv "$made" >&2
  "$made/bin/pip" install --quiet --require-hashes -r uv.lock >&2
  mv -T "$made" "$home" 2>/dev/null || rm -rf "$made"   # another clone may have been first: its copy is as good
fi
echo "$home/bin/uv"
