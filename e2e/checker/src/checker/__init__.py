"""Writes rows, remembers which were acknowledged, and proves that each of them can be read."""
