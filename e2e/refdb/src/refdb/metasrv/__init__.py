"""The role that places regions and knows who lives."""
