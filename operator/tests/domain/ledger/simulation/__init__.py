"""A world that is no kinder than reality: a log that forgets, a database that restarts, operators that are late."""
