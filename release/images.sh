#!/usr/bin/env bash
# Builds the images of a release for this machine's architecture, and pushes them as NAME:VERSION-ARCHITECTURE.
#   release/images.sh VERSION REGISTRY/PATH
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
export SEAWALL_PLATFORM=local   # by buildah, into an archive, as the index is made by it, too
for image in "${IMAGES[@]}"; do
  if [ "$image" = operator ]; then built=$("$PLATFORM/operator-image.sh" --build); else built=$("$REPO/spark-apps/image.sh" "$image" --build); fi
  push_image "$CACHE/images/$(basename "${built/:/-}").tar" "$2/$image:$1-$ARCHITECTURE"
  say "pushed $2/$image:$1-$ARCHITECTURE"
done
