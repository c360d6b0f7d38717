"""What people type: `seawall ledger`, `purge`, `verify` and `hold renew`; also installed as `kubectl-seawall`."""
