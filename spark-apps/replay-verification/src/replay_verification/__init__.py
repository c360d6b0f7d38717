"""Replays a write-ahead log in Kafka on Spark and says, per region, whether it comes back and where it does not."""
