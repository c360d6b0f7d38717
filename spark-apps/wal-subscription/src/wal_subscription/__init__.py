"""Mirrors a write-ahead log to another Kafka, at the same offsets."""
