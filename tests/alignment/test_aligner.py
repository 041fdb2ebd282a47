"""Links of whole texts: how well they are found, and what is refused."""

import logging
import math
import random

import pytest
from support.reordered import pairs_of

from unrolled.alignment import word_pairs
from unrolled.alignment.aligner import Aligner
from unrolled.alignment.word_pairs import number_words
from unrolled.data.reorder.grammar import Grammar
from unrolled.errors import UserError
from unrolled.metrics.alignment_scores import alignment_scores


def corpus(reordering, pairs=1500, **options):
    sizes = {"pairs": pairs, "validation_pairs": 1, "test_pairs": 1}  # those sets would be drawn before this one
    text = list(pairs_of(Grammar(reordering=reordering, **sizes, **options), "train"))
    return [" ".join(pair.source) for pair in text], [" ".join(pair.target) for pair in text], text


def test_blocks_do_not_change_the_result(monkeypatch):
    sources, targets, _ = corpus("local", 150)
    expected = Aligner().align(sources, targets)
    monkeypatch.setattr(word_pairs, "CELLS", 300)
    monkeypatch.setattr(word_pairs, "PENDING", 50)
    text = number_words(sources, targets)
    assert all(block.pairs.size <= 450 for block in text.blocks)  # one pair of lines may be larger
    assert len(text.blocks) > 100
    assert Aligner().align(sources, targets) == expected


def test_jumps_within_a_very_long_line_are_not_tried(caplog):
    long = " ".join(f"w{number}" for number in range(4000))
    sources, targets = ["a b", long, "a"], ["A B", "A", "A"]
    assert [bool(links) for links in Aligner().align(sources, targets)] == [True, False, True]
    assert "line 2: 4000 and 1 words are too many to be aligned: no links" in caplog.messages
    assert [bool(links) for links in Aligner().align(targets, sources)] == [True, False, True]
    assert [bool(links) for links in Aligner(hmm_iterations=0).align(sources, targets)] == [True, True, True]


@pytest.mark.parametrize(("reordering", "worst"), [("none", 0.01), ("local", 0.03), ("head_final", 0.06)])
def test_the_embedded_corpus_is_aligned(reordering, worst):
    sources, targets, text = corpus(reordering)
    found = Aligner().align(sources, targets)
    assert alignment_scores(found, [(set(pair.links), set(pair.links)) for pair in text]).aer < worst


def test_without_a_diagonal_it_is_ibm_model_1_and_better_where_word_orders_have_little_in_common():
    sources, targets, text = corpus("nested")
    gold = [(set(pair.links), set(pair.links)) for pair in text]
    model_1 = {"tension": 0.0, "optimize_tension": False, "hmm_iterations": 0}
    aligners = Aligner(**model_1), Aligner(hmm_iterations=0)
    error = [alignment_scores(aligner.align(sources, targets), gold).aer for aligner in aligners]
    assert error[0] < error[1] < 0.2
    # word order means nothing to it
    shuffled = [" ".join(random.Random(line).sample(line.split(), len(line.split()))) for line in sources]
    assert shuffled != sources
    words = [
        [sorted((j, line.split()[i]) for i, j in links) for line, links in zip(side, found, strict=True)]
        for side in (sources, shuffled)
        for found in [Aligner(symmetrization="forward", **model_1).align(side, targets)]
    ]
    assert words[0] == words[1]


def test_exchanging_the_sides_exchanges_the_directions():
    sources, targets, _ = corpus("head_final", 200)
    forward = Aligner(symmetrization="forward").align(sources, targets)
    backward = Aligner(symmetrization="backward").align(targets, sources)
    assert forward == [{(i, j) for j, i in links} for links in backward]
    assert forward != Aligner(symmetrization="backward").align(sources, targets)
    assert all(len({j for _, j in links}) == len(links) for links in forward)


def test_an_empty_side_has_no_links():
    assert Aligner().align(["a b", "", " \t", "b"], ["A B", "A", "B", ""])[1:] == [set()] * 3
    assert Aligner().align(["", " "], ["a", ""]) == [set(), set()]
    assert Aligner().align([], []) == []


def test_words_are_what_ascii_white_space_separates():
    (links,) = Aligner().align(["a\u00a0b\u2028c d"], ["A  D"])
    assert links == {(0, 0), (1, 1)}


def test_a_line_an_iteration_says_how_training_goes(caplog):
    caplog.set_level(logging.INFO)
    Aligner(iterations=2, hmm_iterations=1).align(["a b", "a c"], ["A B", "A C"])
    text, *iterations, links = [record.getMessage() for record in caplog.records]
    assert text == "2 pairs of lines, 7 pairs of words"
    assert links.startswith("4 links by grow_diag_final_and, ")
    assert [line.split(":")[0] for line in iterations] == [
        f"{direction}, {iteration}"
        for direction in ("target given source", "source given target")
        for iteration in ("iteration 1 of 2", "iteration 2 of 2", "HMM iteration 1 of 1")
    ]
    assert f"cross-entropy {math.log2(3):.3f} bits, perplexity 3.00, tension 4.00" in iterations[0]


def test_every_option_changes_training(caplog):
    caplog.set_level(logging.INFO)
    changes = [{}, {"iterations": 4}, {"p0": 0.2}, {"tension": 1.0}, {"optimize_tension": False}, {"alpha": None}]
    changes += [{"hmm_iterations": 2}, {"hmm_iterations": 0}]
    said = set()
    for change in changes:
        caplog.clear()
        Aligner(**change).align(["a b c", "b c", "a c d d"], ["A B C", "C B", "D A"])
        said.add(tuple(record.getMessage() for record in caplog.records[1:-1]))
    assert len(said) == len(changes)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"iterations": 0}, "iterations=0: give a whole number from 1 to 1000000"),
        ({"iterations": 2.5}, "iterations=2.5: give a whole number"),
        ({"hmm_iterations": -1}, "hmm_iterations=-1: give a whole number from 0"),
        ({"p0": 1.0}, "p0=1.0: give a number from 0.0 to 0.999"),
        ({"p0": "half"}, "p0=half: give a number"),
        ({"tension": float("nan")}, "tension=nan: give a number from 0.0 to 14.0"),
        ({"alpha": 0.0}, "alpha=0.0: give a number from 1e-09"),
        ({"alpha": True}, "alpha=true"),
        ({"optimize_tension": 1}, "optimize_tension=1: give true or false"),
        ({"symmetrization": "grow-diag"}, "symmetrization=grow-diag is unknown; did you mean grow_diag?"),
        (
            {"symmetrization": None},
            "give one of grow_diag_final_and, grow_diag, intersection, union, forward, backward",
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(options, said):
    with pytest.raises(UserError) as error:
        Aligner(**options)
    assert said in str(error.value)


def test_sides_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="2 source lines and 1 target lines"):
        Aligner().align(["a", "b"], ["A"])


def test_the_result_is_the_same_every_time():
    sources, targets, _ = corpus("nested", 100)
    assert Aligner().align(sources, targets) == Aligner().align(sources, targets)


def test_a_pair_of_lines_too_long_for_a_table_has_no_links_and_a_warning(caplog):
    sources, targets = ["a b", "b a", "a"], ["A B", "B A", "A"]
    plain = Aligner().align(sources, targets)
    long = " ".join(["a"] * 100_000)
    with caplog.at_level(logging.WARNING):
        found = Aligner().align([*sources[:2], long, "a"], [*targets[:2], long, "A"])
    assert found == [*plain[:2], set(), plain[2]]
    assert caplog.messages == ["line 3: 100000 and 100000 words are too many to be aligned: no links"]
