"""How Kafka's brokers, their replicas and the controllers are: what people and metrics are told."""
