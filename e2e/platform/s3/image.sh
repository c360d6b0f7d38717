#!/usr/bin/env bash
# Builds the image of the object store, loads it into the cluster, which must be up, and prints its reference.
set -euo pipefail
exec 3>&1 1>&2   # stdout carries the reference only
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
store=$("$PLATFORM/store.sh")
ref=$("$PLATFORM/images.sh" s3 "$PLATFORM/s3" Dockerfile --only Dockerfile --build-context store="$store")
"$PLATFORM/cluster" load "$ref"
echo "$ref" >&3
