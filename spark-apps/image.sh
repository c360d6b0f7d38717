#!/usr/bin/env bash
# Builds the image of a Spark application, loads it into the cluster, which must be up, and prints its reference.
# With --build it only builds it, and needs no cluster.
#   image.sh replay-verification | wal-backup | wal-subscription [--build]
set -euo pipefail
exec 3>&1 1>&2   # stdout carries the reference only
source "$(dirname "${BASH_SOURCE[0]}")/../e2e/platform/lib.sh"
application=${1:?which application}
lock=()
[ "$application" = replay-verification ] || lock=(requirements/store.lock)
ref=$("$PLATFORM/images.sh" "$application" "$REPO" spark-apps/Dockerfile --target "$application" \
  --only spark-apps/image spark-apps/{"$application",sparkjob,walrecord}/{README.md,pyproject.toml,src} \
  "spark-apps/$application/image" requirements/{build,verification}.lock "${lock[@]}")
[ "${2:-}" = --build ] || "$PLATFORM/cluster" load "$ref"
echo "$ref" >&3
