"""SQL: the dialect, statements as values, queries over rows."""
