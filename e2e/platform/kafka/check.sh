#!/usr/bin/env bash
# Proves that Kafka of this instance works: through SASL_SSL a topic is made, records are written
# to it with acks=all and read again; a wrong password is refused. Runs inside a broker's pod.
#   eval "$(e2e/platform/cluster env)"; e2e/platform/kafka/check.sh
set -euo pipefail
kubectl -n kafka exec -i kafka-0 -- bash -s <<'POD'
set -euo pipefail
topic=check-$(date +%s)-$RANDOM
servers=kafka.kafka.svc:9093
config() { # PASSWORD
  cat <<K
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="$(cat /etc/kafka/user/username)" password="$1";
ssl.truststore.type=PEM
ssl.truststore.location=/etc/kafka/ca/ca.crt
default.api.timeout.ms=10000
request.timeout.ms=5000
K
}
config "$(cat /etc/kafka/user/password)" >/tmp/check.properties
config wrong >/tmp/check-wrong.properties
kafka-topics --bootstrap-server $servers --command-config /tmp/check.properties \
  --create --topic "$topic" --partitions 3 --replication-factor 3 --config min.insync.replicas=2
trap 'kafka-topics --bootstrap-server $servers --command-config /tmp/check.properties --delete --topic "$topic"' EXIT
seq 100 | kafka-console-producer --bootstrap-server $servers --command-config /tmp/check.properties \
  --topic "$topic" --command-property acks=all
read=$(kafka-console-consumer --bootstrap-server $servers --command-config /tmp/check.properties \
  --topic "$topic" --from-beginning --max-messages 100 --timeout-ms 20000 | sort -n | uniq | wc -l)
[ "$read" = 100 ] || { echo "error: 100 records written, $read read"; exit 1; }
if kafka-topics --bootstrap-server $servers --command-config /tmp/check-wrong.properties --list >/tmp/check.out 2>&1; then
  echo "error: a wrong password was accepted"; exit 1
fi
grep -q 'Authentication failed' /tmp/check.out || { tail -5 /tmp/check.out; exit 1; }
echo "SASL_SSL works: 100 records written and read, a wrong password is refused"
POD
