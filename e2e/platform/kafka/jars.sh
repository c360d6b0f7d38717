#!/usr/bin/env bash
# jars.sh [VERSION]: downloads Kafka's jars from Maven Central, once for each state of pom.xml, and prints their folder.
# VERSION is another Kafka than that of pom.xml, which upgrades begin with.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
pom=$PLATFORM/kafka/pom.xml
if [ "$#" -gt 0 ]; then
  mkdir -p "$CACHE/stage"
  other=$(mktemp "$CACHE/stage/kafka-pom.XXXXXX")
  trap 'rm -f "$other"' EXIT
  sed "s|<kafka.version>.*</kafka.version>|<kafka.version>$1</kafka.version>|" "$pom" >"$other"
  pom=$other
fi
maven_jars "$pom" kafka
