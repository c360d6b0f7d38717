"""What people type: `seawall ledger`, `seawall hold renew`; also installed as `kubectl-seawall`."""
