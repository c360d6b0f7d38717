"""Test beds: the loopback processes of integration tests and the local cluster of e2e tests."""
