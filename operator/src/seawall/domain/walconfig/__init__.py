"""The database's `[wal]` configuration, rendered from a WALCluster."""
