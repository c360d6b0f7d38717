"""What every Spark application of Seawall needs: its request file, Kafka's connection, its session, and how it ends."""
