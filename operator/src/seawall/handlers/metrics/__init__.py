"""Prometheus metrics, by capability."""
