#!/usr/bin/env bash
# Installs the Spark Operator into the cluster, which must be up; changes nothing when it is there as it should be.
# By its own chart: namespace spark-operator, applications in every namespace, no election among one replica; everything
# else as the chart has it.
# With --build it only builds the image, and needs no cluster.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
limit=180

operator=$("$PLATFORM/spark/operator.sh")
# The stage of our own images that has Spark and nothing of ours: what all are made of is built, kept and loaded once.
spark=$("$PLATFORM/images.sh" spark "$REPO" spark-apps/Dockerfile --target spark \
  --only spark-apps/image requirements/verification.lock)
image=$("$PLATFORM/images.sh" spark-operator "$PLATFORM/spark" operator.Dockerfile --base-image "$spark" \
  --build-context "operator=$operator/image" --only operator.Dockerfile)
[ "${1:-}" != --build ] || exit 0
eval "$("$PLATFORM/cluster" env)"
"$PLATFORM/cluster" load "$image"

kubectl apply -f - >/dev/null <<'K'
apiVersion: v1
kind: Namespace
metadata:
  name: spark-operator
  labels: {pod-security.kubernetes.io/enforce: restricted}
K
# spark-submit lives for two seconds: what the optimizing compiler would do takes as long again.
short_lived='{"name": "JAVA_TOOL_OPTIONS", "value": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}'
say "installing the Spark Operator"
helm upgrade --install spark-operator "$operator/chart" -n spark-operator --wait --timeout "${limit}s" \
  --set "image.registry=${image%%/*}" --set "image.repository=$(cut -d/ -f2- <<<"${image%:*}")" --set "image.tag=${image##*:}" \
  --set controller.leaderElection.enable=false --set webhook.leaderElection.enable=false \
  --set-json "controller.env=[$short_lived]" --set-json 'spark.jobNamespaces=[""]' \
  --set spark.serviceAccount.create=false --set spark.rbac.create=false >/dev/null || {
  kubectl -n spark-operator get pods -o wide >&2 || true
  kubectl -n spark-operator get events --sort-by=.lastTimestamp 2>/dev/null | tail -15 >&2 || true
  die "the Spark Operator was not ready within $limit s"
}
say "the Spark Operator is ready"
