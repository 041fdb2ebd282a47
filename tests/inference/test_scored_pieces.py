"""The log-likelihood of scored sentences."""

import math

from unrolled.inference.scored_pieces import total


def test_the_total_is_over_tokens_and_not_a_mean_of_sentences():
    scored = [[("a", math.log(0.5)), ("b", math.log(0.25)), ("</s>", math.log(0.5))], [("</s>", math.log(0.125))]]
    likelihood = total(iter(scored))
    assert likelihood.tokens == 4
    assert math.isclose(likelihood.perplexity, (0.5 * 0.25 * 0.5 * 0.125) ** -0.25)
    assert math.isnan(total([]).loss)
