"""The sink of decoded rows: a topic of another Kafka gets each row of the selected tables once, by transactions."""
