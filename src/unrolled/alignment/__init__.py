"""Word alignments: Pharaoh and GIZA++ files, word to piece, and an aligner. Knows text."""
