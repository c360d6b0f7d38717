"""Seawall: keeps Kafka write-ahead logs safe, small and replayable."""
