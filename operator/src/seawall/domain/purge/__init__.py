"""Runs of purges: pure."""
