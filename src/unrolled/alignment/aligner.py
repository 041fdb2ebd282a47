"""Word alignments of a parallel text from that text alone: a model in each direction, and the two merged."""

import logging
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from unrolled.alignment import hmm_model, ibm_model
from unrolled.alignment.links import Links
from unrolled.alignment.symmetrization import symmetrization
from unrolled.alignment.word_pairs import Integers, WordPairs, number_words
from unrolled.errors import FLAG, Numbers, check, counted
from unrolled.text.tokens import split_words

log = logging.getLogger(__name__)

RANGES = {
    "iterations": Numbers(least=1, most=10**6, whole=True),
    "hmm_iterations": Numbers(least=0, most=10**6, whole=True),
    "p0": Numbers(least=0.0, most=0.999),
    "tension": Numbers(least=0.0, most=ibm_model.TENSIONS[1]),
    "alpha": Numbers(least=1e-9, most=1e9, also=(None,)),
}


LARGEST = 10_000_000  # pairs of words in a pair of lines, and jumps from word to word in a line


@dataclass(frozen=True, kw_only=True)
class Aligner:
    """How to align: `ibm_model`, as fast_align -d -o -v, then `hmm_model`, in both directions.

    UserError: values that make no sense.

    iterations: of expectation maximisation; fast_align also counts the pass that reads off the links.
    hmm_iterations: of `hmm_model` after them; 0: none, as fast_align.
    p0: the probability that a word is linked to none.
    tension: the initial λ, how near to the diagonal links are expected. 0 with optimize_tension=False is IBM model 1,
    for languages whose word orders have little in common.
    optimize_tension: optimise λ too.
    alpha: of the Dirichlet prior over the translations of a word, small where few are expected; None: no prior, maximum
    likelihood.
    symmetrization: how the two directions are merged, a name in `symmetrization.SYMMETRIZATIONS`.
    """

    iterations: int = 5
    hmm_iterations: int = 5
    p0: float = 0.08
    tension: float = 4.0
    optimize_tension: bool = True
    alpha: float | None = 0.01
    symmetrization: str = "grow_diag_final_and"

    def __post_init__(self) -> None:
        """Refuse values that make no sense."""
        for name, allowed in RANGES.items():
            check(name, getattr(self, name), allowed)
        check("optimize_tension", self.optimize_tension, FLAG)
        symmetrization(self.symmetrization)

    def align(self, sources: Sequence[str], targets: Sequence[str]) -> list[Links]:
        """The links of every pair of lines, source word first. A pair with an empty side has none, and, with a warning,
        one of more than `LARGEST` pairs of words or jumps.

        The models are trained on these very lines: to align others, add them. Words are taken as written.
        ValueError: more lines on one side than on the other.

        29,000 pairs of 13 words take 7 s on one core and 0.2 GB besides the program; a million take 5 minutes and 4 GB.
        Each pair of lines needs 4 bytes for every source word times target word and 2,000 for its links, and every two
        words that occur together in a pair of lines need 60. `hmm_model` takes one or two times as long again.
        """
        if len(sources) != len(targets):
            raise ValueError(f"{len(sources)} source lines and {len(targets)} target lines")
        begin = time.perf_counter()
        text = number_words(*_without_largest(sources, targets, jumps=self.hmm_iterations > 0))
        log.info("%s of lines, %s of words", counted(len(sources), "pair"), counted(len(text.source), "pair"))
        forward = self._align_targets(text, "target given source")
        backward = self._align_targets(text.transposed(), "source given target")
        symmetrize = symmetrization(self.symmetrization)
        links = [
            symmetrize(
                {(i, j) for j, i in enumerate(sources_of_targets.tolist()) if i >= 0},
                {(i, j) for i, j in enumerate(targets_of_sources.tolist()) if j >= 0},
            )
            for sources_of_targets, targets_of_sources in zip(forward, backward, strict=True)
        ]
        count = counted(sum(map(len, links)), "link")
        log.info("%s by %s, %.1f s in all", count, self.symmetrization, time.perf_counter() - begin)
        return links

    def _align_targets(self, text: WordPairs, direction: str) -> list[Integers]:
        """For each pair of lines, the source word of every target word, -1 for none."""
        model = ibm_model.start(text, tension=self.tension, p0=self.p0)
        line = f"{direction}, iteration %d of {self.iterations}: cross-entropy %.3f bits, perplexity %.2f, tension %.2f"
        for iteration in range(1, self.iterations + 1):
            expected = ibm_model.expectation(text, model)
            entropy = -expected.log_likelihood / math.log(2) / max(text.target_tokens, 1)
            log.info(line, iteration, entropy, 2**entropy, model.tension)
            model = ibm_model.maximization(
                text, model, expected, alpha=self.alpha, optimize_tension=self.optimize_tension
            )
        if not self.hmm_iterations:
            return ibm_model.best_links(text, model)
        jumping = hmm_model.start(model.theta, model.null, p0=self.p0)
        line = f"{direction}, HMM iteration %d of {self.hmm_iterations}: cross-entropy %.3f bits, perplexity %.2f"
        for iteration in range(1, self.hmm_iterations + 1):
            counted = hmm_model.expectation(text, jumping)
            entropy = -counted.log_likelihood / math.log(2) / max(text.target_tokens, 1)
            log.info(line, iteration, entropy, 2**entropy)
            jumping = hmm_model.maximization(text, jumping, counted, alpha=self.alpha)
        return hmm_model.best_links(text, jumping)


def _without_largest(sources: Sequence[str], targets: Sequence[str], *, jumps: bool) -> tuple[list[str], list[str]]:
    """The lines, empty where a pair is too long for a table of all its pairs of words, or of all its ``jumps``."""
    left = list(sources), list(targets)
    for number, (source, target) in enumerate(zip(sources, targets, strict=True)):
        if max(len(source), len(target)) ** 2 <= LARGEST:  # characters: there are no more words
            continue
        words = len(split_words(source)), len(split_words(target))
        if words[0] * words[1] > LARGEST or (jumps and min(words) > 0 and max(words) ** 2 > LARGEST):
            log.warning("line %d: %d and %d words are too many to be aligned: no links", number + 1, *words)
            left[0][number] = left[1][number] = ""
    return left
