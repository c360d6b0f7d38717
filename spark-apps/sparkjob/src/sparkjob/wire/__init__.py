"""Kafka as it is on the wire: batches, raw requests, exact ranges of records. Needs the extra `wire`."""
