"""Messages of Kafka's protocol that kafka-python lacks, in its own form: a JSON file each, which it reads."""
