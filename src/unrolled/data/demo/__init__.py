"""A small corpus in real words: English sentences and their German translations, with gold word links."""
