#!/usr/bin/env bash
# Downloads Kafka's jars from Maven Central, once for each state of pom.xml, and prints their folder.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
maven_jars "$PLATFORM/kafka/pom.xml" kafka
