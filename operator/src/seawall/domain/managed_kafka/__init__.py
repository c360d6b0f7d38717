"""A Kafka that Seawall runs: who its nodes are, which of them may format a volume, and what they are made of."""
