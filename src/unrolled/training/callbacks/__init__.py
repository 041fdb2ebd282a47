"""Callbacks of a training: saving, progress, divergence, pictures, records."""
