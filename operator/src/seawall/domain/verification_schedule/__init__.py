"""The verifications that a WALCluster makes on a schedule: pure."""
