#!/usr/bin/env bash
# Downloads Kafka's jars from Maven Central, once for each state of pom.xml, and prints their folder.
set -euo pipefail
exec 3>&1 1>&2   # stdout carries the folder only
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

download() {
  [ ! -d "$out" ] || return 0
  local tmp="$out.tmp" log="$CACHE/log/jars.log"
  command -v mvn >/dev/null || packages maven default-jdk-headless
  mkdir -p "$CACHE/log"; rm -rf "$tmp"; mkdir -p "$tmp"
  say "downloading Kafka's jars from Maven Central (log: $log)"
  timeout 600 mvn -B -ntp -f "$pom" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$tmp" >"$log" 2>&1 ||
    { tail -20 "$log"; die "Maven could not download Kafka's jars (log: $log)"; }
  mv "$tmp" "$out"   # last: an interrupted download leaves no entry
  say "$(find "$out" -name '*.jar' | wc -l) jars in $out"
}

pom=$PLATFORM/kafka/pom.xml
key=$(hash_of <"$pom")
out=$CACHE/jars/$key
[ -d "$out" ] || with_lock "jars-$key" download
echo "$out" >&3
