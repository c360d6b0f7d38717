"""Tests of the pure parts of reassignments."""
