"""What integration tests stand on: the operator as a process, the API server and Kafka as a user sees them."""
