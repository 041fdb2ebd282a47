"""Translating, scoring and attending with one trained translator or several, each line at its place."""

from dataclasses import replace
from functools import partial

import pytest
import torch
from support.small_models import PARTS, SOURCE_WORDS, TARGET_WORDS, build, some_attention

from unrolled.errors import UserError
from unrolled.inference.trained_translator import Member, TrainedTranslator
from unrolled.models.fast.int8 import levels
from unrolled.search.ensemble import arithmetic_mean
from unrolled.search.settings import BeamSearch, Greedy
from unrolled.search.shortlist import Shortlist
from unrolled.text.tokenizer import WordTokenizer, train_sentencepiece
from unrolled.text.tokens import EOS

SOURCE = [f"s{number}" for number in range(SOURCE_WORDS - 4)]
TARGET = [f"t{number}" for number in range(TARGET_WORDS - 4)]
FEW = Shortlist(torch.full((SOURCE_WORDS, 1), -1), torch.arange(6, TARGET_WORDS, 2))
LINES = ["s1 s2 s3 s4 s5", "s2", "", "s7 s1 s1", " "]


def translator(*models, words=SOURCE, search=None, max_tokens=99):
    members = tuple(Member(model.eval(), WordTokenizer(words)) for model in models)
    search = search or BeamSearch(beam_size=3, max_length_ratio=1.0, max_length_extra=2)
    return TrainedTranslator(members, WordTokenizer(TARGET), search, arithmetic_mean, torch.device("cpu"), max_tokens)


@pytest.mark.parametrize("name", PARTS)
def test_every_line_gets_its_translation_whatever_the_batches_and_an_empty_line_an_empty_one(name):
    model = build(name, some_attention(name))
    together = translator(model).translate(LINES)
    assert together == translator(model, max_tokens=6).translate(LINES)
    assert together == [text for line in LINES for text in translator(model).translate([line])]
    assert [bool(text) for text in together] == [True, True, False, True, False]


@pytest.mark.parametrize("space", ["\u00a0", "\u3000", "\u2003"])
def test_a_line_is_empty_without_a_word_and_only_ascii_white_space_is_none(space):
    model = build()
    assert translator(model).translate([space]) == translator(model).translate(["unknown"])  # <unk>
    assert translator(model).translate([space])[0]
    assert translator(model).translate([" \t"]) == [""]


def test_a_line_of_which_the_tokenizer_keeps_nothing_is_empty(tmp_path):
    pieces = train_sentencepiece(["s1 s2 s3"] * 9, kind="unigram", size=9)
    assert pieces.encode(["\u3000"]) == [[]]
    trained = replace(translator(build()), members=(Member(build().eval(), pieces),))
    assert trained.translate(["\u3000", "s1"]) == ["", trained.translate(["s1"])[0]]
    assert trained.translate(["s1"])[0]


def test_the_best_of_several_are_told_best_first_and_need_a_beam():
    model = build()
    best = translator(model).translations(LINES[:2], 3)
    assert [len(outputs) for outputs in best] == [3, 3]
    assert all(outputs[0].hypothesis.score >= outputs[2].hypothesis.score for outputs in best)
    greedy = translator(model, search=Greedy())
    assert len(greedy.translations(LINES[:1])) == 1
    with pytest.raises(UserError, match="nbest=2 needs a beam: use search=beam"):
        greedy.translations(LINES[:1], 2)


def test_a_translation_has_the_score_that_the_search_gave_it():
    model = build()
    with torch.no_grad():
        model.readout.output.bias[EOS] += 2  # random parameters seldom end a sentence
    trained = translator(model)
    lists = zip(LINES, trained.translations(LINES, 3), strict=True)
    ended = [(line, best) for line, outputs in lists for best in outputs if best.hypothesis.finished and best.text]
    assert len(ended) > 2
    scored = trained.score([line for line, _ in ended], [best.text for _, best in ended])
    for (_, best), pieces in zip(ended, scored, strict=True):
        assert [piece for piece, _ in pieces[:-1]] == best.text.split()
        assert sum(log_p for _, log_p in pieces) == pytest.approx(best.hypothesis.log_probability, abs=1e-6)


@pytest.mark.parametrize("kind", [Greedy, partial(BeamSearch, beam_size=3)])
@pytest.mark.parametrize("seeds", [[0], [1, 2]])
@pytest.mark.parametrize(
    "approximate", [{"weights": "int8"}, {"shortlist": FEW}, {"weights": "int8", "shortlist": FEW}]
)
def test_scores_after_an_approximate_search_are_those_of_the_weights_as_they_are_over_all_words(
    kind, seeds, approximate
):
    models = [build(seed=seed).float() for seed in seeds]
    for model in models:
        with torch.no_grad():
            model.readout.output.bias[EOS] += 2
    trained = translator(*models, search=kind(**approximate, max_length_ratio=1.0, max_length_extra=2))
    count = 1 if kind is Greedy else 3
    as_searched, outputs = (trained.translations(LINES, count, scored=scored) for scored in (False, True))
    every = [(line, best) for line, found in zip(LINES, outputs, strict=True) for best in found if line.strip()]
    ended = [(line, best) for line, best in every if best.hypothesis.finished and best.text]
    scored = trained.score([line for line, _ in ended], [best.text for _, best in ended])
    assert [best.hypothesis.log_probability for _, best in ended] == pytest.approx(
        [sum(log_p for _, log_p in pieces) for pieces in scored], abs=1e-5
    )
    for before, after in zip(as_searched, outputs, strict=True):
        assert {best.text for best in before} == {best.text for best in after}
        assert [best.hypothesis for best in after] == sorted(
            [best.hypothesis for best in after], key=lambda h: (not h.finished, -h.score)
        )
    found, again = ([best.hypothesis.score for one in lists for best in one] for lists in (as_searched, outputs))
    changes_scores = "shortlist" in approximate or levels() is not None
    assert not changes_scores or sorted(found) != pytest.approx(sorted(again), abs=1e-6)


def test_several_members_look_where_they_look_on_average():
    models = [build("cgru", "gru_att", seed=1), build("bahdanau", "bahdanau", seed=2)]
    sources, targets = [LINES[0], LINES[1]], ["t1 t2", "t3"]
    alone = [translator(model).attend(sources, targets) for model in models]
    for both, one, other in zip(translator(*models).attend(sources, targets), *alone, strict=True):
        torch.testing.assert_close(both.weights, (one.weights + other.weights) / 2)
        assert both.memory_norms is None
        assert one.memory_norms is not None


def test_weights_that_cannot_be_shown_are_refused_with_the_option_to_omit():
    with pytest.raises(UserError, match="pictures=2: this run has no attention; omit pictures"):
        translator(build("encoder_decoder", "none")).check_attention("pictures=2")
    one, other = translator(build()), translator(build(seed=1), words=SOURCE[::-1])
    both = replace(one, members=one.members + other.members)
    with pytest.raises(UserError, match="pictures=2: these runs tokenize the source differently"):
        both.check_attention("pictures=2")
    with pytest.raises(UserError, match="cannot be averaged"):
        both.attend(LINES[:1], ["t1"])
    assert both.attention_figures(LINES[:1], ["t1"], None) == {}
