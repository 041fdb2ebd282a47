"""The embedded corpus: a small synchronous grammar with gold alignments."""
