"""Certificates and users of a managed Kafka: what is told of them, and which rights and passwords Kafka has."""
