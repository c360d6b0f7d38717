"""Adapters against real processes on loopback."""
