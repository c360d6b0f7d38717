"""refdb: a test database that keeps its write-ahead log in Kafka. Not for anyone's data."""
