"""What a generator's state says about itself."""


class PerSentence(tuple):  # type: ignore[type-arg]
    """A part of a state that belongs to the sentence: one row for all its hypotheses, whatever search does with them.

    In every way else a tuple of tensors, their first dimension the batch.
    """

    __slots__ = ()
