"""A mixture of trained language models: their log-probabilities of a text, and the perplexity of the mixture.

Letters: M models, N tokens.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from unrolled.errors import UserError
from unrolled.inference.columns import Column
from unrolled.inference.mixing import check_common_vocabulary
from unrolled.inference.mixture_weights import mixed
from unrolled.inference.notices import Notices
from unrolled.inference.text_scorer import scorer
from unrolled.inference.trained_language_model import TrainedLanguageModel
from unrolled.metrics.perplexity import LogLikelihood
from unrolled.text.table import table

Array = NDArray[np.float64]


def read_text(models: Sequence[TrainedLanguageModel], lines: Sequence[str], context: str | None) -> Array:
    """Natural log p ``(M, N)`` of all tokens of ``lines`` and </s>. UserError: models with different vocabularies."""
    check_common_vocabulary(models)
    if context is None and len({model.continuous for model in models}) > 1:
        names = " and ".join(next(m.name for m in models if m.continuous is kind) for kind in (False, True))
        raise UserError(f"{names}: some were trained on lines, some on continuous text: give context=line or text")
    scored = [scorer(model, context).score(lines) for model in models]
    notices = Notices([Column(model.name, model.tokenizer) for model in models])
    notices.add(lines, scored)
    notices.end()
    return np.array([[log_p for pieces in of_model for _, log_p in pieces] for of_model in scored])


def comparison(names: Sequence[str], log_probs: Mapping[str, Array], weights: Array) -> str:
    """A table of the weight, and the perplexity per token on every split, of each model and of the mixture."""
    rows = [["", "weight", *log_probs]]
    for number, name in enumerate(names):
        rows.append([name, f"{weights[number]:.6f}", *(_perplexity(split[number]) for split in log_probs.values())])
    rows.append(["mixture", "", *(_perplexity(mixed(split, weights)) for split in log_probs.values())])
    return table(rows)


def _perplexity(log_probs: Array) -> str:
    return f"{LogLikelihood(-float(log_probs.sum()), len(log_probs)).perplexity:.6g}"
