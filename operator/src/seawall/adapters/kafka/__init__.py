"""Kafka behind its ports, by confluent-kafka and, for what that lacks, by kafka-python."""
