"""Data planes: GreptimeDB's HTTP interfaces and its metadata in etcd, and the background looks at them."""
