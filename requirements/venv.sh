#!/usr/bin/env bash
# Makes .venv from requirements/dev.lock and puts the workspace's own packages into it, editable.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=$(requirements/uv.sh)
export UV_PYTHON_DOWNLOADS=never VIRTUAL_ENV=$PWD/.venv
# Prints the distribution's Python where it is new enough: our images run Debian's, too, and it is built with
# profile-guided optimization, while the first of PATH may be pyenv's, which is not and takes half as long again.
python() {
  local found=/usr/bin/python3
  if "$found" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo "$found"; else echo '>=3.11'; fi
}
[ -x .venv/bin/python ] || "$uv" venv --quiet --python "$(python)" .venv
"$uv" pip sync --quiet --require-hashes requirements/dev.lock
"$uv" pip install --quiet --no-deps --no-build-isolation -e operator -e spark-apps/sparkjob -e spark-apps/walrecord -e spark-apps/replay-verification -e spark-apps/wal-backup -e spark-apps/wal-subscription -e e2e -e e2e/refdb -e e2e/checker
touch .venv/.stamp
