"""WALSubscriptions: what is copied to a second Kafka cluster, what is kept for it, and what has to stop. Pure."""
