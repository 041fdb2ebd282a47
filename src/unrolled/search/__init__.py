"""Search over anything that generates: ``start(batch) -> state`` and ``step(tokens, state) -> (log_probs, state)``.

Knows models and text; torch only.
"""
