"""What holds for each port, asked of the fake and of the real adapter."""
