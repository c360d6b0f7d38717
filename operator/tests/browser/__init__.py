"""What the operator serves to people, in a real headless Chromium."""
