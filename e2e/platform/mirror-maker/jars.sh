#!/usr/bin/env bash
# Downloads MirrorMaker 2 from Maven Central, once for each state of pom.xml, and prints the folder of its jars.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
maven_jars "$PLATFORM/mirror-maker/pom.xml" mirror-maker
