#!/usr/bin/env bash
# Builds the operator's image with libfaketime below it, loads it into the cluster, which must be up, and prints its reference.
set -euo pipefail
exec 3>&1 1>&2   # stdout carries the reference only
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
packages libfaketime
library=$(dirname "$(dpkg-query -L libfaketime | grep '/libfaketime\.so\.1$')")
operator=$("$PLATFORM/operator-image.sh" --build)
ref=$("$PLATFORM/images.sh" operator-with-another-clock "$PLATFORM/faketime" Dockerfile --only Dockerfile \
  --base-image "$operator" --build-context faketime="$library")
"$PLATFORM/cluster" load "$ref"
echo "$ref" >&3
