"""One controller per kind: observes through the ports and performs actions; all decisions are in `seawall.domain`."""
