"""One page about a WALCluster for a person on call: what is wrong, what runs, what it waits for. Pure."""
