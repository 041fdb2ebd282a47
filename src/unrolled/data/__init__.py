"""Text files to batches of token ids. Knows nothing of models."""
