"""Restarts of Kafka nodes as rolls: why one may not go now, and in which order. Pure."""
