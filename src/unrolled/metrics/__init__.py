"""Numbers or text in, numbers out."""
