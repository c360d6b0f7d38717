"""Generated from proto/wal.proto by `make proto`."""
