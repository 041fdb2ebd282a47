"""IBM model 2 with a prior for the diagonal, and its training by expectation maximisation.

Dyer, Chahuneau & Smith 2013, "A Simple, Fast, and Effective Reparameterization of IBM Model 2" (fast_align), section 2,
in its notation. The target sentence e_1 .. e_m is generated word by word given the source sentence f_1 .. f_n, each e_i
by the source word that a_i = j points at, or by none (j = 0, the null word f_0):

    p(e, a | f) = Π_i δ(a_i | i, m, n) θ(e_i | f_{a_i})

    h(i, j, m, n) = - |i/m - j/n|                                          (1)
    δ(a_i = j | i, m, n) = p_0                              for j = 0      (2)
                           (1 - p_0) exp(λ h) / Z_λ(i, m, n)  otherwise
    Z_λ(i, m, n) = Σ_{j=1..n} exp(λ h(i, j, m, n))                         (3)

Shapes use the letters of `word_pairs`.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unrolled.alignment.word_pairs import SameLengths, WordPairs

Numbers = NDArray[Any]

STEPS, RATE = 8, 20.0  # of gradient ascent for λ after every iteration
BERNOULLI = (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)  # B_2k / 2k from k = 7 to 1
TENSIONS = (0.1, 14.0)  # between which λ is sought


@dataclass(frozen=True)
class Model:
    """p(e, a | f). theta (W): θ(e|f) of every word pair. null (V): θ(e|f_0). tension: λ. p0: of the null word."""

    theta: Numbers
    null: Numbers
    tension: float
    p0: float


@dataclass(frozen=True)
class Expectation:
    """What a model expects of the links of a text: sums of q(a_i = j) = p(a_i = j | e, f).

    theta (W), null (V): of every word pair, and of the null word with every target word. diagonal: for each (n, m) the
    sums (n, m) of every j > 0 with every i. log_likelihood: Σ log p(e | f), in nats.
    """

    theta: Numbers
    null: Numbers
    diagonal: dict[tuple[int, int], Numbers]
    log_likelihood: float


def start(text: WordPairs, *, tension: float, p0: float) -> Model:
    """The model that knows nothing of words: every θ(e|f) is 1/V."""
    uniform = 1 / max(text.target_words, 1)
    return Model(np.full(len(text.source), uniform), np.full(text.target_words, uniform), tension, p0)


def expectation(text: WordPairs, model: Model) -> Expectation:
    """The E-step; also returns the text's log-likelihood."""
    theta, null = np.zeros_like(model.theta), np.zeros_like(model.null)
    diagonal: dict[tuple[int, int], Numbers] = {}
    log_likelihood = 0.0
    for block in text.blocks:
        # q(a_i = j) = δ(j | i, m, n) θ(e_i | f_j) / Σ_j' δ(j' | i, m, n) θ(e_i | f_j')
        link, no_link = _joint(block, model)
        total = _positive(link.sum(axis=1) + no_link)
        link /= total[:, None]
        no_link /= total
        np.add.at(theta, block.pairs.ravel(), link.ravel())
        np.add.at(null, block.target.ravel(), no_link.ravel())
        _, n, m = link.shape
        diagonal[n, m] = diagonal.get((n, m), 0.0) + link.sum(axis=0)
        log_likelihood += float(np.log(total).sum())
    return Expectation(theta, null, diagonal, log_likelihood)


def maximization(
    text: WordPairs, model: Model, expected: Expectation, *, alpha: float | None, optimize_tension: bool
) -> Model:
    """The M-step: θ from expected counts, with a Dirichlet prior of ``alpha`` or, for None, without; then λ."""
    theta, null = translations(text, expected.theta, expected.null, alpha=alpha)
    tension = model.tension
    if optimize_tension and text.blocks:
        tension = _ascend(expected.diagonal, tension, text.target_tokens)
    return replace(model, theta=theta, null=null, tension=tension)


def translations(text: WordPairs, links: Numbers, no_links: Numbers, *, alpha: float | None) -> tuple[Numbers, Numbers]:
    """θ(e|f) of every word pair (W) and of the null word (V), from expected counts ``links`` (W), ``no_links`` (V)."""
    totals = np.bincount(text.source, links, text.source_words)
    if alpha is None:
        # θ(e|f) = c(e, f) / Σ_e' c(e', f)
        theta = links / _positive(totals)[text.source]
        null = no_links / _positive(no_links.sum())
    else:
        # θ(e|f) = exp(ψ(c(e, f) + α) - ψ(Σ_e' (c(e', f) + α))), e' over all words that occur with f: variational Bayes
        partners = np.bincount(text.source, minlength=text.source_words)
        theta = np.exp(_digamma(links + alpha) - _digamma(totals + alpha * partners)[text.source])
        null = np.exp(_digamma(no_links + alpha) - _digamma((no_links + alpha).sum()))
    return theta, null


def best_links(text: WordPairs, model: Model) -> list[Numbers]:
    """For each sentence pair (m), the j (from 0) of the most likely link of each e_i, -1 if that is the null word.

    Ties go to the null word, then to the smallest j. A pair with an empty side has an empty array.
    """
    best: list[Numbers] = [np.empty(0, np.int32)] * text.lines
    for block in text.blocks:
        link, no_link = _joint(block, model)
        most_likely = np.where(link.max(axis=1) > no_link, link.argmax(axis=1), -1).astype(np.int32)
        for line, links in zip(block.lines, most_likely, strict=True):
            best[line] = links
    return best


def _joint(block: SameLengths, model: Model) -> tuple[Numbers, Numbers]:
    """p(e_i, a_i = j | f): (B, n, m) for j > 0 and (B, m) for j = 0."""
    _, n, m = block.pairs.shape
    _, prior = _diagonal(n, m, model.tension)
    return model.theta[block.pairs] * ((1 - model.p0) * prior), model.null[block.target] * model.p0


def _diagonal(n: int, m: int, tension: float) -> tuple[Numbers, Numbers]:
    """h and exp(λ h) / Z_λ, both (n, m)."""
    i, j = np.arange(1, m + 1), np.arange(1, n + 1)[:, None]
    h = -np.abs(i / m - j / n)  # (1)
    prior = np.exp(tension * h)
    return h, prior / prior.sum(axis=0)  # (2), (3)


def _ascend(diagonal: dict[tuple[int, int], Numbers], tension: float, words: int) -> float:
    """λ after a few steps of ascent on the expected log-likelihood per target word, which is concave in λ.

    Its second derivative is minus a variance of h, which is at most that of a uniform distribution over an interval of
    length 1, 1/12, so steps with a rate below 24 never lead down.
    """
    for _ in range(STEPS):
        # ∇_λ = Σ_i Σ_{j>0} q(a_i = j) (h(i, j, m, n) - E_{δ, j'>0}[h(i, j', m, n)])
        gradient = 0.0
        for (n, m), links in diagonal.items():
            h, prior = _diagonal(n, m, tension)
            gradient += float((links * (h - (prior * h).sum(axis=0))).sum())
        tension = min(max(tension + RATE * gradient / words, TENSIONS[0]), TENSIONS[1])
    return tension


def _positive(totals: Any) -> Any:
    """Totals to divide by; where all terms of a total are 0, because they are tiny or never expected, they stay 0."""
    return np.maximum(totals, np.finfo(np.float64).tiny)


def _digamma(x: Any) -> Numbers:
    """ψ(x), x >= 0 (Abramowitz & Stegun 1964, 6.3.6 and 6.3.18); ψ(0) = -inf, for a word without partners."""
    # ψ(x) = ψ(y) - Σ_{k=0..9} 1 / (x + k), y = x + 10
    with np.errstate(divide="ignore"):
        below = sum(1 / (x + k) for k in range(10))
    y = x + 10
    # ψ(y) = ln y - 1 / 2y - Σ_k B_2k / (2k y^2k)
    z = 1 / (y * y)
    psi: Numbers = np.log(y) - 0.5 / y - z * np.polyval(BERNOULLI, z) - below
    return psi
