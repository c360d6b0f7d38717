"""A walk over all leaves of all specs: each is given many values, and oracles say what is wrong (ADR 71)."""
