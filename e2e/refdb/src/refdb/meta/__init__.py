"""What is kept in etcd: the client, the keys and the values."""
