"""Rescoring n-best lists: reading them, choosing by weights, tuning the weights. Knows metrics, no torch."""
