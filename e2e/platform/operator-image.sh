#!/usr/bin/env bash
# Builds the operator's image, loads it into the cluster, which must be up, and prints its reference.
# With --build it only builds it, and needs no cluster.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
ref=$("$PLATFORM/images.sh" operator "$REPO" operator/Dockerfile \
  --only operator/Dockerfile operator/pyproject.toml operator/src requirements/build.lock requirements/operator.lock)
[ "${1:-}" = --build ] || "$PLATFORM/cluster" load "$ref" >&2
echo "$ref"
