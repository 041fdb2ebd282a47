"""Language models from counts: counting, estimating, storing, and ARPA files. Knows models and text."""
