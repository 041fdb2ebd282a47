"""Token ids on disk to batches. Knows text and alignment, no model. Only module.py knows Lightning."""
