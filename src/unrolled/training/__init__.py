"""Training: the only part that knows Lightning."""
