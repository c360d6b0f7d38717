"""Configs of a managed Kafka that its brokers take while they run: set as the default of all of them."""
