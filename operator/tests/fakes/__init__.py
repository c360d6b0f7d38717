"""In-memory ports for tests of higher layers; each passes the contract tests of its real adapter."""
