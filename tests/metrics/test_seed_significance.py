"""Differences between systems over seeds: Student's t by tables, and how often one seems to be where none is."""

import math

import numpy as np
import pytest

from unrolled.metrics.line_scores import Bleu
from unrolled.metrics.seed_significance import cochran, difference, quantile, score_difference, two_sided


@pytest.mark.parametrize(
    ("freedom", "at_975", "at_995"),  # from printed tables of Student's t
    [(1, 12.706, 63.657), (2, 4.303, 9.925), (4, 2.776, 4.604), (10, 2.228, 3.169), (120, 1.980, 2.617)],
)
def test_students_t_is_that_of_the_tables(freedom, at_975, at_995):
    assert quantile(0.975, freedom) == pytest.approx(at_975, abs=6e-4)
    assert quantile(0.995, freedom) == pytest.approx(at_995, abs=6e-4)
    assert two_sided(at_975, freedom) == pytest.approx(0.05, abs=5e-5)


def test_closed_forms_of_students_t():
    for t in (0.0, 0.3, 1.7, 25.0):
        assert two_sided(t, 1) == pytest.approx(1 - 2 / math.pi * math.atan(t), abs=1e-12)
        assert two_sided(-t, 2) == pytest.approx(1 - t / math.sqrt(2 + t * t), abs=1e-12)
    assert two_sided(1.96, 1e9) == pytest.approx(math.erfc(1.96 / math.sqrt(2)), rel=1e-5)
    assert quantile(0.8, 1e9) == pytest.approx(0.8416212, abs=1e-5)
    assert two_sided(1.96, 1e5) == pytest.approx(math.erfc(1.96 / math.sqrt(2)), abs=1e-4)


def experiment(rng, runs, sentences, *, seeds, of_system, own, effect=0.0):
    """Two systems' runs on the same sentences: effects of seeds, of sentences on systems, and on runs; resampled."""
    hard = rng.normal(size=sentences)
    drawn = rng.multinomial(sentences, np.full(sentences, 1 / sentences), size=200) / sentences
    groups = []
    for shift in (0.0, effect):
        values = hard + shift + of_system * rng.normal(size=sentences)
        values = values + seeds * rng.normal(size=(runs, 1)) + own * rng.normal(size=(runs, sentences))
        groups += [values.mean(axis=1), values @ drawn.T]
    return difference(*groups, sentences=sentences)


def test_where_nothing_varies_nothing_is_known_of_other_seeds():
    none, all_right = np.zeros(2), np.full(2, 100.0)
    assert difference(none, np.zeros((2, 9)), all_right, np.full((2, 9), 100.0), sentences=20) is None


@pytest.mark.parametrize(
    ("runs", "effects"),
    [
        (2, {"seeds": 0.2, "of_system": 0.6, "own": 0.5}),
        (3, {"seeds": 0.2, "of_system": 0.0, "own": 1.0}),
        (3, {"seeds": 0.05, "of_system": 0.5, "own": 1.0}),
        (3, {"seeds": 0.0, "of_system": 0.0, "own": 0.5}),
        (5, {"seeds": 0.2, "of_system": 0.3, "own": 0.5}),
    ],
)
def test_where_there_is_no_difference_one_in_twenty_seems_to_be_one(runs, effects):
    rng = np.random.default_rng(3)
    found = [experiment(rng, runs, 100, **effects) for _ in range(1000)]
    assert sum(one.p < 0.05 for one in found) / 1000 == pytest.approx(0.05, abs=0.01)
    assert [one.p < 0.05 for one in found] == [not one.lower <= 0 <= one.upper for one in found]


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("of_runs", "of_lines"), [(2, 500), (3, 1), (2, 2)])
def test_cochran_s_critical_value_is_a_mean(share, of_runs, of_lines):
    mean = share * quantile(0.975, of_runs) + (1 - share) * quantile(0.975, of_lines)
    assert quantile(0.975, cochran(share, of_runs, of_lines)) == pytest.approx(mean, rel=1e-6)


def test_the_difference_that_can_be_detected_is_detected_four_times_in_five():
    rng = np.random.default_rng(4)
    effects = {"seeds": 0.1, "of_system": 0.2, "own": 0.5}
    detectable = np.mean([experiment(rng, 5, 200, **effects).detectable for _ in range(200)])
    found = [experiment(rng, 5, 200, **effects, effect=detectable) for _ in range(400)]
    assert sum(one.p < 0.05 for one in found) / 400 == pytest.approx(0.8, abs=0.08)


def test_what_a_test_of_sentences_alone_would_call_a_difference_may_be_the_seeds():
    """The reason for this test: seeds move whole runs, which no resampling of sentences shows."""
    rng = np.random.default_rng(5)
    found = [experiment(rng, 3, 400, seeds=0.3, of_system=0.0, own=0.3) for _ in range(300)]
    alone = sum(abs(one.difference) > 2 * 0.3 * math.sqrt(2 / 3 / 400) for one in found)
    assert alone / 300 > 0.7
    assert sum(one.p < 0.05 for one in found) / 300 < 0.09


REFERENCES = [f"a b c d e{n} f g" for n in range(40)]


def test_bleu_of_systems_with_several_runs():
    rng = np.random.default_rng(6)

    def run(wrong):
        return [line.replace("c d", "d c") if rng.random() < wrong else line for line in REFERENCES]

    poor, good = (Bleu().statistics([run(wrong) for _ in range(3)], REFERENCES) for wrong in (0.8, 0.2))
    found = score_difference(Bleu(), poor, good, samples=200)
    assert found.lower > 0
    assert found.p < 0.05
    opposite = score_difference(Bleu(), good, poor, samples=200)
    assert opposite.difference == pytest.approx(-found.difference)
    assert opposite.p == pytest.approx(found.p)
    assert score_difference(Bleu(), poor[:1], good, samples=200) is None
    same = score_difference(Bleu(), poor, poor, samples=200)
    assert (same.difference, same.p) == (0.0, pytest.approx(1.0))
