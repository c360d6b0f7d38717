"""Whether the records of a log decode, and its entries are whole and in order: wherever the records come from."""
