"""The run that moves replicas: what it froze, what it submits next, and how it ends. Pure."""
