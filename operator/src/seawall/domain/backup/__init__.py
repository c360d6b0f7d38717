"""Backups of the WAL on Spark: pure."""
