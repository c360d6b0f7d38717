"""Backs up a write-ahead log from Kafka to an object store, at its own offsets, and proves what it wrote."""
