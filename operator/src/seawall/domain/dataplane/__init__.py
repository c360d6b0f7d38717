"""What the data plane (the database that writes the WAL) and its metadata store say, as values."""
