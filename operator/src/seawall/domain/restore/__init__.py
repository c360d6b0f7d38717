"""Restores of the WAL: a plan that a person approves, topics that are made for it, and their adoption. Pure."""
