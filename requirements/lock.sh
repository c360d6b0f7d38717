#!/usr/bin/env bash
# Writes requirements/*.lock anew: pins with hashes, and no download host in them (docs/adr/0002-locks-without-hosts.md).
# With --check it writes nothing and fails when a lock does not fit what is declared.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=$(requirements/uv.sh)
folder=requirements
if [ "${1:-}" = --check ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  cp requirements/*.lock "$folder"   # uv keeps the pins that it finds and changes only what does not fit
fi
compile() { "$uv" pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --no-annotate --python-version 3.11 "$@"; }
compile requirements/uv.in -o "$folder/uv.lock"
compile requirements/build.in -o "$folder/build.lock"
compile operator/pyproject.toml --extra operator -o "$folder/operator.lock"
compile operator/pyproject.toml -c "$folder/operator.lock" -o "$folder/cli.lock"
compile e2e/refdb/pyproject.toml -c requirements/operator.lock --no-emit-package walrecord -o "$folder/refdb.lock"
compile e2e/checker/pyproject.toml -c requirements/refdb.lock -o "$folder/checker.lock"
compile spark-apps/replay-verification/pyproject.toml -c requirements/refdb.lock --no-emit-package walrecord --no-emit-package sparkjob -o "$folder/verification.lock"
# The images of the backup and of the subscription have the verification's below them: only what comes on top is in their lock.
mapfile -t below < <(sed -n 's/^\([a-z0-9-]*\)==.*/--no-emit-package=\1/p' "$folder/verification.lock")
compile spark-apps/wal-backup/pyproject.toml spark-apps/wal-subscription/pyproject.toml -c "$folder/verification.lock" -c requirements/operator.lock "${below[@]}" \
  --no-emit-package walrecord --no-emit-package sparkjob -o "$folder/store.lock"
compile requirements/dev.in operator/pyproject.toml --extra operator spark-apps/walrecord/pyproject.toml spark-apps/sparkjob/pyproject.toml \
  spark-apps/replay-verification/pyproject.toml spark-apps/wal-backup/pyproject.toml spark-apps/wal-subscription/pyproject.toml e2e/refdb/pyproject.toml \
  e2e/checker/pyproject.toml \
  -c requirements/operator.lock -c requirements/refdb.lock -c requirements/verification.lock -c requirements/store.lock --no-emit-package walrecord --no-emit-package sparkjob \
  -o "$folder/dev.lock"
if [ "$folder" != requirements ]; then
  for lock in "$folder"/*.lock; do
    diff -u "requirements/$(basename "$lock")" "$lock" >&2 || { echo "$(basename "$lock") does not fit: run make lock" >&2; exit 1; }
  done
fi
