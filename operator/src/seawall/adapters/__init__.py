"""The real outside behind the ports: Kafka and the API server. Adapters translate errors and decide nothing."""
