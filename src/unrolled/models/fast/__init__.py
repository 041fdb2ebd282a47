"""``fast/X.py`` is ``models/X.py`` with the backward pass written out: the same functions, faster and in less memory.

The definition is the loop in ``models/``; a class ``Y`` there has its kernel here, ``YKernel``. The LSTM is torch's.

The other modules mirror no file of ``models/``. What training uses:
    kernel: the contract of a kernel, of a cell's and of an attention's
    products: matrix products in the precision of their weight, with weights packed where that is quicker
    rows: few different numbers of rows in products, where each takes time to compile
    linear: linear layers with such numbers of rows
    squash: tanh in place, and the derivatives of tanh and sigmoid in one pass over memory
    recomputed: steps without a hand-written backward pass, in bounded memory
    lstm: torch's LSTM, in a precision that this machine supports
What search uses, as weights do not change:
    frozen: each weight packed once for all steps of a search
    remembered: what depends on the previous word alone, computed once for each word that occurs
    hoisted: products with the context, computed once for a sentence and not for each hypothesis
    siblings: products with a state, computed once for all hypotheses that continue the same one
    unpadded: the energies of an additive attention, without most of the padding
    int8: products of 8-bit integers
"""
