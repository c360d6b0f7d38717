#!/usr/bin/env bash
# Writes src/walrecord/pb/wal_pb2.py and .pyi from wal.proto. With --check it writes nothing and fails when they differ.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-../../.venv/bin/python}
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
# The proto's path is part of the generated code: within the package it cannot meet another wal.proto in one process.
"$python" -m grpc_tools.protoc -Iwalrecord/pb=proto --python_out="$made" --pyi_out="$made" walrecord/pb/wal.proto
if [ "${1:-}" = --check ]; then
  for file in "$made"/walrecord/pb/*; do
    diff -u "src/walrecord/pb/$(basename "$file")" "$file" >&2 || { echo "$(basename "$file") does not fit wal.proto: run make proto" >&2; exit 1; }
  done
else
  cp "$made"/walrecord/pb/* src/walrecord/pb/
fi
