"""What controllers look at: reads in an order that matters, gated and shared. Nothing is decided or changed here."""
