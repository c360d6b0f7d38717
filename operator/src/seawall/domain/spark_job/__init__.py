"""What runs as a Spark application: attempts with a hold, a frozen request and a verdict that names it. Pure."""
