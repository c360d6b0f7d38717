"""When runs begin and which are kept: pure."""
