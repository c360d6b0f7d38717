#!/usr/bin/env bash
# Builds the operator's image, loads it into the cluster, which must be up, and prints its reference.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
ref=$("$PLATFORM/images.sh" operator "$REPO" operator/Dockerfile \
  --only operator/Dockerfile operator/pyproject.toml operator/src requirements/build.lock requirements/operator.lock)
"$PLATFORM/cluster" load "$ref" >&2
echo "$ref"
