"""Whether the volumes of a managed Kafka are as large as they are declared, and how they grow."""
