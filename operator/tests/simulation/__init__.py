"""A simulated day: all controllers of two operators on in-memory ports; one seed, one run.

Why, and what takes part: docs/adr/0049-a-simulated-day.md.
"""
