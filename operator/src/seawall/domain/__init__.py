"""What Seawall decides: pure functions of typed values. No I/O, no clock, no logging."""
