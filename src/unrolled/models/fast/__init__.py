"""``fast/X.py`` is ``models/X.py`` with the backward pass written out: the same functions, faster and in less memory.

The definition is the loop in ``models/``; a class ``Y`` there has its kernel here, ``YKernel``. The LSTM is torch's.
"""
