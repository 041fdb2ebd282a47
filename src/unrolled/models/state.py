"""What a generator's state says about itself."""


class PerSentence(tuple):  # type: ignore[type-arg]
    """A part of a state whose rows are alike for all hypotheses of a sentence: search need not reorder those.

    In every way else a tuple of tensors, their first dimension the batch.
    """

    __slots__ = ()
