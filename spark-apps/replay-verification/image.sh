#!/usr/bin/env bash
# Builds the image of the replay verification, loads it into the cluster, which must be up, and prints its reference.
# With --build it only builds it, and needs no cluster.
set -euo pipefail
exec 3>&1 1>&2   # stdout carries the reference only
source "$(dirname "${BASH_SOURCE[0]}")/../../e2e/platform/lib.sh"
jars=$("$PLATFORM/spark/jars.sh")
ref=$("$PLATFORM/images.sh" replay-verification "$REPO" spark-apps/replay-verification/Dockerfile --build-context "jars=$jars" \
  --only spark-apps/replay-verification/{Dockerfile,README.md,pyproject.toml,src,image} \
  spark-apps/{sparkjob,walrecord}/{README.md,pyproject.toml,src} requirements/{build,verification}.lock)
[ "${1:-}" = --build ] || "$PLATFORM/cluster" load "$ref"
echo "$ref" >&3
