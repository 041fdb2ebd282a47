"""What search reports of a hypothesis, forced decoding and the training loss say too, in every model and precision.

In float64, for any class: `unrolled.conformance`.
"""

import pytest
import torch
from support.generators import BOS, EOS, PAD
from support.small_models import COMBINATIONS, IDS, SOURCE_WORDS, S, batch_of, build, pad, words

from unrolled.search.forced import score
from unrolled.search.length import NoNormalization
from unrolled.search.settings import BeamSearch
from unrolled.training.linear_loss import linear_token_loss

SOURCES = words([3, S, 2], SOURCE_WORDS, seed=1)
PRECISIONS = {  # parameters, autocast, and how far the three may be apart in a sentence of a few words
    "float32": (torch.float32, None, 1e-4),
    "bfloat16": (torch.float32, torch.bfloat16, 0.3),
}


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("name", "attention", "cell"), COMBINATIONS, ids=IDS)
def test_search_forced_decoding_and_training_loss_agree(name, attention, cell, precision):
    dtype, lowered, tolerance = PRECISIONS[precision]
    model = build(name, attention, cell, seed=5).to(dtype)
    lengths = {"min_length_ratio": 0.5, "max_length_ratio": 1.0, "max_length_extra": 2}  # so that they differ
    search = BeamSearch(beam_size=3, length_normalization=NoNormalization(), **lengths)
    with torch.autocast("cpu", lowered, enabled=lowered is not None):
        hypotheses = search(model, batch_of(SOURCES))
        batch = batch_of(SOURCES)
        batch.target, batch.target_lengths = pad([[BOS, *hypothesis.tokens, EOS] for hypothesis in hypotheses])
        forced = score(model, batch)
        following = batch.target[:, 1:]
        counted = following != PAD
        hidden, _ = model(batch.source, batch.source_lengths, batch.target[:, :-1], counted)
        loss = linear_token_loss(hidden, model.readout.output, following[counted])
    sums = [sum(row) for row in forced]
    assert [len(row) for row in forced] == [len(hypothesis.tokens) + 1 for hypothesis in hypotheses]
    assert len({len(row) for row in forced}) > 1  # padding takes part
    searched = [
        sum(row if hypothesis.finished else row[:-1]) for row, hypothesis in zip(forced, hypotheses, strict=True)
    ]
    assert searched == pytest.approx([hypothesis.log_probability for hypothesis in hypotheses], abs=tolerance)
    assert -float(loss.negative_log_likelihood) == pytest.approx(sum(sums), abs=3 * tolerance)
