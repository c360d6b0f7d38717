"""The outermost layer: kopf's handlers, the probes and the wiring. Nothing here decides anything."""
