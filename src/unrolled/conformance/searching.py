"""Promises about search: its figures for a hypothesis are those of forced decoding and of the training loss."""

from typing import Any

import torch

from unrolled.conformance.cases import Case, batch_of, forced, pad
from unrolled.conformance.subject import Broken, Subject
from unrolled.models.translator import Translator
from unrolled.search.beam import beam_search, greedy
from unrolled.search.forced import score
from unrolled.search.generator import Hypothesis
from unrolled.search.length import NoNormalization
from unrolled.text.tokens import BOS, EOS, PAD
from unrolled.training.linear_loss import linear_token_loss

CASES = [Case((1,), 1), Case((2,), 1), Case((3, 5, 2), 1, seed=1)]
LONGEST = 7
NEAR = 1e-4
"""Search adds up in float32."""


def beams_follow_their_hypotheses(subject: Subject) -> None:
    """In beam search every hypothesis has the log-probability that teacher forcing gives its words."""
    model = subject.build(seed=5)
    for beam in (2, 7):
        for case in CASES:
            for source, hypotheses in zip(case.sources, _search(model, case, beam), strict=True):
                for hypothesis in hypotheses:
                    sequence = _words(hypothesis)
                    with torch.no_grad():
                        log_probs, _ = forced(model, [source], [[BOS, *sequence[:-1]]])
                    expected = float(log_probs[0, torch.arange(len(sequence)), sequence].sum())
                    if not abs(hypothesis.log_probability - expected) <= NEAR * max(1.0, abs(expected)):
                        raise Broken(
                            f"{case}, a beam of {beam}: a hypothesis of {len(sequence)} words has log p "
                            f"{hypothesis.log_probability:.4f} in search and {expected:.4f} by teacher forcing"
                        )


def greedy_is_a_beam_of_one(subject: Subject) -> None:
    """Greedy search and a beam of one find the same, and the same for every sentence alone."""
    model: Any = subject.build(seed=7)
    for case in CASES:
        limits = torch.full((len(case.lengths),), LONGEST)
        together = [h.tokens for h in greedy(model, batch_of(case.sources), max_lengths=limits)]
        beam = [hypotheses[0].tokens for hypotheses in _search(model, case, 1)]
        alone = [greedy(model, batch_of([s]), max_lengths=limits[:1])[0].tokens for s in case.sources]
        if together != beam:
            raise Broken(f"{case}: greedy search finds {together}, a beam of one {beam}")
        if together != alone:
            raise Broken(f"{case}: greedy search finds {together} in a batch, {alone} alone")


def search_forced_decoding_and_loss_agree(subject: Subject) -> None:
    """A translation's log-probability is the same in search, in forced decoding and in the training loss."""
    model: Any = subject.build(seed=5)
    for case in CASES:
        best = [hypotheses[0] for hypotheses in _search(model, case, 3)]
        batch = batch_of(case.sources)
        batch.target, batch.target_lengths = pad([[BOS, *hypothesis.tokens, EOS] for hypothesis in best])
        by_force = score(model, batch)
        searched = [sum(row if h.finished else row[:-1]) for row, h in zip(by_force, best, strict=True)]
        for hypothesis, of_words in zip(best, searched, strict=True):
            if not abs(of_words - hypothesis.log_probability) <= NEAR * max(1.0, abs(of_words)):
                raise Broken(
                    f"{case}: log p of a translation is {hypothesis.log_probability:.4f} in search and {of_words:.4f} "
                    "in forced decoding"
                )
        total, lost = sum(map(sum, by_force)), _loss(model, batch)
        if not abs(total + lost) <= NEAR * max(1.0, abs(total)):
            raise Broken(f"{case}: log p of all is {total:.4f} in forced decoding and {-lost:.4f} in the training loss")


def _loss(model: Any, batch: Any) -> float:
    """-log p of all words, as training computes it."""
    inputs, following = batch.target[:, :-1], batch.target[:, 1:]
    counted = following != PAD
    if isinstance(model, Translator):
        hidden, _ = model(batch.source, batch.source_lengths, inputs, counted)
        output = model.readout.output
    else:
        vectors, _ = model(inputs, model.zero_state(len(inputs)))
        hidden, output = vectors[counted], model.output
    return float(linear_token_loss(hidden, output, following[counted]).negative_log_likelihood)


def _search(model: Any, case: Case, beam: int) -> list[list[Hypothesis]]:
    limits = torch.full((len(case.lengths),), LONGEST)
    return beam_search(
        model, batch_of(case.sources), beam_size=beam, max_lengths=limits, score=NoNormalization(), nbest=beam
    )


def _words(hypothesis: Hypothesis) -> list[int]:
    return [*hypothesis.tokens, EOS] if hypothesis.finished else hypothesis.tokens
