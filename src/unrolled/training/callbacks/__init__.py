"""What happens at moments of a training: saving, progress, divergence, pictures, records."""
