"""The API server behind its ports: our kinds, ConfigMaps, pods and SparkApplications."""
