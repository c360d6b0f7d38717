"""The sink of tables: rows of selected tables as Parquet in a bucket, named by a chain of commits that only grows."""
