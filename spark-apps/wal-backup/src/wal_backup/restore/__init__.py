"""Puts a log back at its own offsets."""
