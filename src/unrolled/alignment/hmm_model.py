"""Word alignment as a hidden Markov model: where a word is linked depends on where the word before it was.

Vogel, Ney & Tillmann 1996, "HMM-Based Word Alignment in Statistical Translation", with the null word of Och & Ney 2003,
section 2.1, in the notation of `ibm_model`. Source positions are 1 .. n, and position 0 is before the first; after a
null word the position j' before it still counts:

    p(e, a | f) = Π_i p(a_i | a_{i-1}) θ(e_i | f_{a_i})

    p(j | j')      = (1 - p_0) ((1 - κ) s(j - j') / Σ_l s(l - j') + κ / n)
    p(null | j')   = p_0, and the next word is linked as if after j'

s(d) is the weight of a jump by d source words; beyond ±`REACH` all weigh the same. Shapes use the letters of
`word_pairs`.
"""

from dataclasses import dataclass

import numpy as np

from unrolled.alignment.ibm_model import Numbers, translations
from unrolled.alignment.word_pairs import SameLengths, WordPairs

REACH = 60
"""Source words; further jumps are counted together, and each of the positions that are so far gets an equal part."""
UNIFORM = 0.2
"""κ: the share of jumps to any position."""


@dataclass(frozen=True)
class HiddenMarkov:
    """p(e, a | f). theta (W), null (V): as in `ibm_model.Model`. jumps (2 REACH + 1): s(-REACH) .. s(REACH)."""

    theta: Numbers
    null: Numbers
    jumps: Numbers
    p0: float

    def transitions(self, n: int) -> Numbers:
        """p(j | j') of all real words, without the factor 1 - p_0: (n + 1, n), row 0 from before the sentence."""
        weights = self.jumps[_places(n)]
        probabilities: Numbers = (1 - UNIFORM) * weights / weights.sum(axis=1, keepdims=True) + UNIFORM / n
        return probabilities


@dataclass(frozen=True)
class JumpExpectation:
    """Expected counts: theta (W), null (V) of links, jumps (2 REACH + 1). log_likelihood: Σ log p(e | f), in nats.

    Jumps of ±REACH or more are counted for one of the positions that a word could so jump to: s(±REACH) is its weight.
    """

    theta: Numbers
    null: Numbers
    jumps: Numbers
    log_likelihood: float


def start(theta: Numbers, null: Numbers, *, p0: float) -> HiddenMarkov:
    """Translations that another model has learnt, and jumps that are all equally likely."""
    return HiddenMarkov(theta, null, np.ones(2 * REACH + 1), p0)


def expectation(text: WordPairs, model: HiddenMarkov) -> JumpExpectation:
    """The E-step: the forward-backward algorithm, all sentence pairs of equal lengths at once."""
    theta, null, jumps = (np.zeros_like(counts) for counts in (model.theta, model.null, model.jumps))
    log_likelihood = 0.0
    for block in text.blocks:
        link, no_link, pairs, total = posteriors(block, model)
        np.add.at(theta, block.pairs.ravel(), link.ravel())
        np.add.at(null, block.target.ravel(), no_link.ravel())
        places = _places(block.pairs.shape[1])
        np.add.at(jumps, places.ravel(), (pairs / _as_far(places)).ravel())
        log_likelihood += total
    return JumpExpectation(theta, null, jumps, log_likelihood)


def posteriors(block: SameLengths, model: HiddenMarkov) -> tuple[Numbers, Numbers, Numbers, float]:
    """q(a_i = j): (B, n, m), and of the null word (B, m); the sums of q(j', j) over all steps (n + 1, n); log p(e | f).

    A state is the last real position, 0 .. n, with the last word linked to it, or to none since. Each step's forward
    probabilities are divided by their sum c_i, whose logarithms add up to the likelihood.
    """
    lines, n, m = block.pairs.shape
    transition = model.transitions(n)
    emission = (1 - model.p0) * model.theta[block.pairs].transpose(2, 0, 1)  # (m, B, n)
    nothing = model.p0 * model.null[block.target].T[:, :, None]  # (m, B, 1)
    # forward: a_i(j) = Σ_j' A_{i-1}(j') p(j | j') θ(e_i | f_j), and A_i = a_i + p_0 θ(e_i | f_0) A_{i-1}, over c_i
    before = np.zeros((m + 1, lines, n + 1))
    before[0, :, 0] = 1
    scale = np.empty((m, lines, 1))
    real = np.empty((m, lines, n))
    for i in range(m):
        real[i] = (before[i] @ transition) * emission[i]
        before[i + 1] = nothing[i] * before[i]
        before[i + 1, :, 1:] += real[i]
        scale[i] = np.maximum(before[i + 1].sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        before[i + 1] /= scale[i]
        real[i] /= scale[i]
    # backward: b_{i-1}(j') = (Σ_j p(j | j') θ(e_i | f_j) b_i(j) + p_0 θ(e_i | f_0) b_i(j')) / c_i
    after = np.ones((lines, n + 1))
    link, no_link, pairs = np.empty((lines, n, m)), np.empty((lines, m)), np.zeros_like(transition)
    for i in reversed(range(m)):
        link[:, :, i] = real[i] * after[:, 1:]
        no_link[:, i] = (nothing[i] * before[i] * after / scale[i]).sum(axis=1)
        ahead = emission[i] * after[:, 1:] / scale[i]
        pairs += before[i].T @ ahead
        after = ahead @ transition.T + nothing[i] * after / scale[i]
    return link, no_link, pairs * transition, float(np.log(scale).sum())


def maximization(
    text: WordPairs, model: HiddenMarkov, expected: JumpExpectation, *, alpha: float | None
) -> HiddenMarkov:
    """The M-step: θ as in `ibm_model`, s(d) from expected counts."""
    theta, null = translations(text, expected.theta, expected.null, alpha=alpha)
    jumps = expected.jumps / max(expected.jumps.sum(), np.finfo(np.float64).tiny)
    return HiddenMarkov(theta, null, np.maximum(jumps, 1e-12), model.p0)


def best_links(text: WordPairs, model: HiddenMarkov) -> list[Numbers]:
    """For each sentence pair (m), the j (from 0) with the greatest q(a_i = j), -1 if that is the null word's.

    Ties go to the null word, then to the smallest j. A pair with an empty side has an empty array.
    """
    best: list[Numbers] = [np.empty(0, np.int32)] * text.lines
    for block in text.blocks:
        link, no_link, *_ = posteriors(block, model)
        most_likely = np.where(link.max(axis=1) > no_link, link.argmax(axis=1), -1).astype(np.int32)
        for line, links in zip(block.lines, most_likely, strict=True):
            best[line] = links
    return best


def _places(n: int) -> Numbers:
    """Where the jump from j' = 0 .. n to j = 1 .. n is among the jumps: (n + 1, n)."""
    jump = np.arange(1, n + 1) - np.arange(n + 1)[:, None]
    places: Numbers = jump.clip(-REACH, REACH) + REACH
    return places


def _as_far(places: Numbers) -> Numbers:
    """How many jumps from the same j' share each of the ``places``: 1 but at both ends."""
    ends = [(places == end, (places == end).sum(axis=1, keepdims=True)) for end in (0, 2 * REACH)]
    shared: Numbers = np.select([there for there, _ in ends], [count for _, count in ends], 1)
    return shared
