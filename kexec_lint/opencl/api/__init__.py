"""What the calls of each API mean, as tables."""
