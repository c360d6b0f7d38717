#!/bin/bash
# Starts the broker of a StatefulSet's pod: its number is its node id.
#   /etc/kafka/server.properties   what all brokers share (ConfigMap)
#   /etc/kafka/tls                 tls.crt, tls.key (Secret kafka-tls)
#   /etc/kafka/user                username, password of the SCRAM user (Secret kafka-user)
#   KAFKA_CLUSTER_ID, KAFKA_DOMAIN, KAFKA_HEAP_OPTS
set -euo pipefail
id=${HOSTNAME##*-}
config=/tmp/server.properties
CLASSPATH=$(printf '%s:' /opt/kafka/libs/*.jar)   # the same order as in archive-classes.sh
export CLASSPATH
umask 077

# Kafka reads a PEM key store from one file: the key and its certificates.
cat /etc/kafka/tls/tls.key /etc/kafka/tls/tls.crt >/tmp/keystore.pem
host=$HOSTNAME.$KAFKA_DOMAIN
{
  cat /etc/kafka/server.properties
  echo
  echo "node.id=$id"
  echo "advertised.listeners=PLAINTEXT://$host:9092,SASL_SSL://$host:9093"
  echo "log.dirs=/var/lib/kafka/data"
  echo "ssl.keystore.type=PEM"
  echo "ssl.keystore.location=/tmp/keystore.pem"
} >"$config"

for _ in $(seq 50); do   # the volume of a new pod may become writable a moment later
  [ ! -w /var/lib/kafka ] || break
  sleep 0.1
done

if [ ! -e /var/lib/kafka/data/meta.properties ]; then
  # Every broker is given the same user; the first active controller's record counts.
  java @/opt/kafka/jvm.options kafka.tools.StorageTool format -t "$KAFKA_CLUSTER_ID" -c "$config" \
    --add-scram "SCRAM-SHA-512=[name=$(cat /etc/kafka/user/username),password=$(cat /etc/kafka/user/password)]"
fi

# exec: SIGTERM must reach the JVM, or the broker never hands over its partitions.
# shellcheck disable=SC2086  # several options
exec java @/opt/kafka/jvm.options ${KAFKA_HEAP_OPTS:--Xms256m -Xmx256m} kafka.Kafka "$config"
