#!/usr/bin/env bash
# Builds the images of the reference database and of its etcd, loads them into the cluster, which must be up, and
# prints their references, one a line: refdb, etcd.
set -euo pipefail
exec 3>&1 1>&2   # stdout carries the references only
source "$(dirname "${BASH_SOURCE[0]}")/../platform/lib.sh"
refdb=$("$PLATFORM/images.sh" refdb "$REPO" e2e/refdb/Dockerfile \
  --only e2e/refdb/{Dockerfile,README.md,pyproject.toml,src} spark-apps/walrecord/{README.md,pyproject.toml,src} \
  requirements/build.lock requirements/refdb.lock)
binaries=$("$PLATFORM/binaries.sh")
etcd=$("$PLATFORM/images.sh" etcd "$REPO/e2e/refdb/deploy" etcd.Dockerfile --scratch --only etcd.Dockerfile \
  --build-context binaries="$binaries")
"$PLATFORM/cluster" load "$refdb" "$etcd"
printf '%s\n' "$refdb" "$etcd" >&3
