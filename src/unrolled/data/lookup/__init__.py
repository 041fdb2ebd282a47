"""Lookup tables applied one after the other: a task whose rule is simple, and whose right attention is known."""
