"""Numbers or text in, numbers out. Knows text and alignment; no torch, no configuration."""
