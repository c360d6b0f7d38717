"""The role that holds regions."""
