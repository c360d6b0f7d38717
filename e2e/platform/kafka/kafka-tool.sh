#!/bin/bash
# Kafka's command line tools under the names that people know (without .sh).
set -euo pipefail
case $(basename "$0") in
kafka-topics) class=org.apache.kafka.tools.TopicCommand ;;
kafka-configs) class=kafka.admin.ConfigCommand ;;
kafka-console-producer) class=org.apache.kafka.tools.ConsoleProducer ;;
kafka-console-consumer) class=org.apache.kafka.tools.consumer.ConsoleConsumer ;;
kafka-consumer-groups) class=org.apache.kafka.tools.consumer.group.ConsumerGroupCommand ;;
kafka-get-offsets) class=org.apache.kafka.tools.GetOffsetShell ;;
kafka-log-dirs) class=org.apache.kafka.tools.LogDirsCommand ;;
kafka-metadata-quorum) class=org.apache.kafka.tools.MetadataQuorumCommand ;;
kafka-cluster) class=org.apache.kafka.tools.ClusterTool ;;
kafka-reassign-partitions) class=org.apache.kafka.tools.reassign.ReassignPartitionsCommand ;;
*) echo "no such tool: $0" >&2; exit 2 ;;
esac
CLASSPATH=$(printf '%s:' /opt/kafka/libs/*.jar)
export CLASSPATH
# Warnings only: stdout is the tool's answer.
KAFKA_LOG_LEVEL=ERROR exec java @/opt/kafka/jvm.options -Xmx128m "$class" "$@"
