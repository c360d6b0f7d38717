#!/usr/bin/env bash
# Downloads the jars by which Spark reads Kafka from Maven Central, once for each state of pom.xml, and prints their folder.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
maven_jars "$PLATFORM/spark/pom.xml" spark -DexcludeTransitive=true
