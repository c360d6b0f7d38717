#!/usr/bin/env bash
# Makes .venv from requirements/dev.lock and puts the workspace's own packages into it, editable.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=$(requirements/uv.sh)
export UV_PYTHON_DOWNLOADS=never VIRTUAL_ENV=$PWD/.venv
[ -x .venv/bin/python ] || "$uv" venv --quiet .venv
"$uv" pip sync --quiet --require-hashes requirements/dev.lock
"$uv" pip install --quiet --no-deps --no-build-isolation -e operator -e spark-apps/walrecord -e spark-apps/replay-verification -e e2e -e e2e/refdb -e e2e/checker
touch .venv/.stamp
