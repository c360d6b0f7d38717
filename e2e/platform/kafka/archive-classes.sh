#!/bin/bash
# Runs a broker for a moment while the image is built and keeps its loaded classes in an archive
# (AppCDS), which halves the start. Such an archive fits one JDK and one class path only.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
CLASSPATH=$(printf '%s:' /opt/kafka/libs/*.jar)   # the order must be the same when it is used
export CLASSPATH
# Loopback only: some builders share the host's network.
cat >"$work/server.properties" <<K
process.roles=broker,controller
node.id=0
controller.quorum.voters=0@127.0.0.1:19093
listeners=PLAINTEXT://127.0.0.1:19092,CONTROLLER://127.0.0.1:19093
controller.listener.names=CONTROLLER
log.dirs=$work/data
log.cleaner.dedupe.buffer.size=2097152
K
grep -v -e SharedArchiveFile -e log4j2 /opt/kafka/jvm.options >"$work/jvm.options"
java "@$work/jvm.options" kafka.tools.StorageTool format -t U2Vhd2FsbEthZmthRTJFMQ -c "$work/server.properties"
java "@$work/jvm.options" -Xmx256m -Dlog4j2.configurationFile=/opt/kafka/log4j2.properties \
  -XX:ArchiveClassesAtExit=/opt/kafka/classes.jsa kafka.Kafka "$work/server.properties" &
broker=$!
for _ in $(seq 240); do
  ! (exec 3<>/dev/tcp/127.0.0.1/19092) 2>/dev/null || break
  sleep 0.25
done
# Exit code 143 is the signal's.
kill -TERM "$broker"
wait "$broker" || true
# The brokers run as another user.
chmod a+r /opt/kafka/classes.jsa
