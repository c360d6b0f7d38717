"""Datanode restarts that wait for the WAL: the gate, the order, maintenance, and why a datanode does not come up."""
