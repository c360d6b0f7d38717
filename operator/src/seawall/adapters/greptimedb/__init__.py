"""GreptimeDB behind its ports: its HTTP interfaces, and its metadata in etcd, PostgreSQL or MySQL."""
