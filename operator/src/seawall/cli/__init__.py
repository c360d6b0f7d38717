"""What people type: `seawall ledger`, `seawall purge`, `seawall hold renew`; also installed as `kubectl-seawall`."""
