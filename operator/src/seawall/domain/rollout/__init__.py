"""Datanode restarts that wait for the WAL: the gate, the order, the roll, and why a datanode does not come up."""
