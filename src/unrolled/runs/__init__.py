"""Run folders: what is in them, results, provenance, weights, resuming, reproducing. Knows no data, no Lightning."""
