"""The sink of rows: its topics in the target, how far it is, and what its application is told (ADR 48, 52)."""
