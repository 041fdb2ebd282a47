"""n-best lists judged again: reading them, choosing by weights, finding the weights."""
