"""The write-ahead log in Kafka."""
