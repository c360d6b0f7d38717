"""What people type: `seawall status`, `ledger`, `plan`, `purge`, `verify`, `hold renew`; also as `kubectl-seawall`."""
