#!/usr/bin/env bash
# Installs greptimedb-operator into the cluster, which must be up, by its own manifests; changes nothing when it is there as
# it should be. Prints the reference of the initializer's image, which a GreptimeDBCluster names in spec.initializer.image.
set -euo pipefail
exec 3>&1 1>&2   # stdout carries the reference only
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
limit=120

built=$("$PLATFORM/greptimedb/operator.sh")
image_of() {
  "$PLATFORM/images.sh" "greptimedb-$1" "$PLATFORM/greptimedb" "$1.Dockerfile" --scratch --only "$1.Dockerfile" \
    --build-context "operator=$built/image"
}
operator=$(image_of operator)
initializer=$(image_of initializer)
eval "$("$PLATFORM/cluster" env)"
"$PLATFORM/cluster" load "$operator" "$initializer"

say "installing greptimedb-operator"
# Its CRDs are too large for the annotation of a client-side apply.
sed "s#image: greptime/greptimedb-operator:.*#image: $operator#" "$built/manifests/bundle.yaml" |
  kubectl apply --server-side --force-conflicts -f - >/dev/null
kubectl -n greptimedb-admin rollout status deployment greptimedb-operator --timeout="${limit}s" >/dev/null || {
  kubectl -n greptimedb-admin get pods -o wide >&2 || true
  kubectl -n greptimedb-admin logs deployment/greptimedb-operator --tail=20 >&2 || true
  die "greptimedb-operator was not ready within $limit s"
}
say "greptimedb-operator is ready"
echo "$initializer" >&3
