#!/usr/bin/env bash
# Deploys Kafka and waits until all brokers are ready. Called by `cluster up`, which exports
# KUBECONFIG and KUBECTL.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
limit=180
kube() { "$KUBECTL" --request-timeout=20s "$@"; }

jars=$("$PLATFORM/kafka/jars.sh")
image=$("$PLATFORM/images.sh" kafka "$PLATFORM/kafka" --build-context "jars=$jars" \
  --only Dockerfile jvm.options log4j2.properties entrypoint.sh kafka-tool.sh archive-classes.sh)
"$PLATFORM/cluster" load "$image"
"$PLATFORM/kafka/secrets.sh"
manifest=$PLATFORM/kafka/kafka.yaml
sed "s|@IMAGE@|$image|; s|@REVISION@|$(hash_of <"$manifest")|" "$manifest" | kube apply -f - >/dev/null

say "waiting for Kafka"
# No --request-timeout: this one watches.
if ! "$KUBECTL" -n kafka rollout status statefulset/kafka --timeout="${limit}s" >/dev/null; then
  kube -n kafka get pods -o wide >&2 || true
  kube -n kafka get events --sort-by=.lastTimestamp 2>/dev/null | tail -15 >&2 || true
  for pod in kafka-0 kafka-1 kafka-2; do
    echo "--- end of $pod's log" >&2
    kube -n kafka logs "$pod" --tail=15 >&2 || true
  done
  die "Kafka was not ready within $limit s"
fi
say "Kafka is ready: kafka-0.kafka.kafka:9092 (plain), :9093 (SASL_SSL)"
