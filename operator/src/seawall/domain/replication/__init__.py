"""The second controller of WALClusters: where the replicas of their partitions are, and the run that moves them."""
