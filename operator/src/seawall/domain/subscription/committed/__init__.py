"""How far rows are, by what was committed in the target: a topic of progress, or chains in a bucket (ADR 52)."""
