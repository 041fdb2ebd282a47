"""What every attention, decoder and model promises, tried on anybody's class.

Knows models, search and the training loss; torch only, no configuration. A promise is a function of a `Subject` that
raises `Broken` with the smallest case in which it does not hold.
"""
