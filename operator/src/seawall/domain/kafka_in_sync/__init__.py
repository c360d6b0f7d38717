"""Which nodes of a managed Kafka are in sync, so that an eviction of another one may pass."""
