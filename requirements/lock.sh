#!/usr/bin/env bash
# Writes requirements/*.lock anew: pins with hashes, and no download host in them (docs/adr/0002-locks-without-hosts.md).
set -euo pipefail
cd "$(dirname "$0")/.."
uv=$(requirements/uv.sh)
compile() { "$uv" pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 "$@"; }
compile requirements/uv.in -o requirements/uv.lock
compile requirements/build.in -o requirements/build.lock
compile operator/pyproject.toml -o requirements/operator.lock
compile requirements/dev.in operator/pyproject.toml -c requirements/operator.lock -o requirements/dev.lock
