#!/usr/bin/env bash
# Builds the checker's image, loads it into the cluster, which must be up, and prints its reference.
set -euo pipefail
exec 3>&1 1>&2   # stdout carries the reference only
source "$(dirname "${BASH_SOURCE[0]}")/../platform/lib.sh"
checker=$("$PLATFORM/images.sh" checker "$REPO" e2e/checker/Dockerfile \
  --only e2e/checker/{Dockerfile,README.md,pyproject.toml,src} requirements/build.lock requirements/checker.lock)
"$PLATFORM/cluster" load "$checker"
echo "$checker" >&3
