"""Replays a write-ahead log on Spark and says which region would come back with what."""
