"""The WALCluster: what is observed, which verdict that gives, and the next step."""
