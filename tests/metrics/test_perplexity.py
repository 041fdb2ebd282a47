import math

from unrolled.metrics.perplexity import LogLikelihood


def test_perplexity_is_of_summed_nats_over_summed_tokens():
    total = LogLikelihood()
    total.add(2.0, 2)
    total.add(9.0, 3)
    assert total.tokens == 5
    assert total.negative_log_likelihood == 11.0
    assert math.isclose(total.loss, 11 / 5)  # not the mean of 1 and 3
    assert math.isclose(total.perplexity, math.exp(2.2))


def test_parts_added_up_are_the_whole():
    whole, first, second = LogLikelihood(), LogLikelihood(3.5, 7), LogLikelihood(1.25, 2)
    for part in (first, second):
        whole.add(part.negative_log_likelihood, part.tokens)
    assert whole == LogLikelihood(4.75, 9)


def test_uniform_words_have_their_number_as_perplexity():
    total = LogLikelihood()
    for _ in range(13):
        total.add(math.log(17), 1)
    assert math.isclose(total.perplexity, 17)


def test_extremes_are_numbers_and_not_errors():
    assert LogLikelihood(1e6, 1).perplexity == math.inf
    assert LogLikelihood(math.inf, 1).perplexity == math.inf
    assert math.isnan(LogLikelihood(math.nan, 1).perplexity)
    assert math.isnan(LogLikelihood().loss)
    assert math.isnan(LogLikelihood().perplexity)
    assert LogLikelihood(0.0, 3).perplexity == 1.0
