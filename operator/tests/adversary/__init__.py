"""An adversary moves the world between any two calls of a living operator; rows are judged by who wrote them."""
