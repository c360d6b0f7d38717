"""Replay verifications on Spark: pure."""
