"""Numbers and text in, numbers out."""
