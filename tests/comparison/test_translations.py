"""Which translations can be compared, and what is said of those that cannot."""

from types import SimpleNamespace

import pytest
from support.handmade_runs import TEXTS, run

from unrolled.comparison.groups import compare
from unrolled.comparison.translations import read_translations
from unrolled.errors import UserError
from unrolled.metrics.line_scores import Bleu, ExactMatch

SOURCES, REFERENCES = ["ein hund", "zwei hunde", "drei"], ["a dog", "two dogs", "three"]
OTHER = TEXTS | {"test.target": "9" * 64}


def text(gold=None, **changes):
    """A text of three lines, for training and for the test."""
    known = {"fingerprint": lambda: TEXTS, "sources": lambda split: SOURCES, "references": lambda split: REFERENCES}
    return SimpleNamespace(**{**known, "gold": lambda split: gold, **changes})


@pytest.fixture
def made(tmp_path):
    """A function: a run of an attention, with its translations."""

    def make(attention, seed=1, lines=REFERENCES, **more):
        folder = tmp_path / f"{attention}{seed}"
        (folder / "translations").mkdir(parents=True)
        if lines is not None:
            written = "".join(f"{line}\n" for line in lines)
            (folder / "translations" / "test.txt").write_text(written, encoding="utf-8")
        options = {"choices.attention": attention, "data.bleu_tokenize": "13a", "data.bleu_lowercase": False}
        return run(folder, seed=seed, bleu=1.0, **{**options, **more})

    return make


def read(runs, given=None, *, align=0, score=None, baseline=None):
    return read_translations(compare(runs, baseline), lambda folder: given or text(), align=align, score=score)


def test_translations_are_read_by_their_runs_and_known_links_with_them(made):
    runs = [made("dot", lines=["a dog", "two", ""]), made("gru")]
    whole, notices = read(runs, text(gold=[({(0, 0)}, {(0, 0), (1, 1)}), (set(), set()), (set(), set())]))
    assert notices == []
    assert whole.hypotheses == {runs[0].folder: ["a dog", "two", ""], runs[1].folder: REFERENCES}
    assert (whole.links, whole.automatic) == ([{(0, 0)}, set(), set()], False)
    assert isinstance(whole.score, Bleu)


def test_a_run_with_too_few_translations_or_without_any_leaves_its_group_out(made):
    whole, notices = read([made("dot"), made("gru", lines=REFERENCES[:2]), made("none", lines=None)])
    assert [group.label for group in whole.groups] == ["dot"]
    missing, few = notices
    assert missing.startswith("none: there is no ")
    assert few == "gru: 2 translations of 3 test sentences"


def test_a_file_that_cannot_be_read_leaves_only_its_group_out(made):
    runs = [made("dot"), made("gru")]
    (runs[1].folder / "translations" / "test.txt").write_bytes(b"sch\xf6n\n")
    whole, (unread,) = read(runs)
    assert [group.label for group in whole.groups] == ["dot"]
    assert unread.startswith("gru: ")
    assert "UTF-8" in unread


def test_a_group_that_does_not_say_what_it_translated_is_left_out(made):
    whole, (said,) = read([made("dot"), made("gru", sha256={})])
    assert [group.label for group in whole.groups] == ["dot"]
    assert said.endswith("provenance.json does not say what the test text was")


def test_of_two_test_texts_that_of_the_baseline_counts_or_else_that_of_most_runs(made):
    runs = [made("dot", sha256=OTHER), made("gru", 1), made("gru", 2)]
    whole, (said,) = read(runs)
    assert [group.label for group in whole.groups] == ["gru"]
    assert said == "dot: another test text, or BLEU over other tokens, than gru"
    whole, _ = read(runs, text(fingerprint=lambda: OTHER), baseline={"attention": "dot"})
    assert [group.label for group in whole.groups] == ["dot"]


def test_a_text_that_has_changed_since_is_not_compared(made):
    whole, (said,) = read([made("dot")], text(fingerprint=lambda: OTHER))
    assert whole is None
    assert "the test text has changed since this run translated it" in said


def test_language_models_have_no_translations():
    assert read([run("lm", results={"test/perplexity": 5.0})]) == (None, [])


@pytest.mark.parametrize(
    ("monitor", "asked", "kind"),
    [
        ("val/word_error_rate", None, ExactMatch),
        ("val/bleu", None, Bleu),
        ("val/word_error_rate", "bleu", Bleu),
        ("val/bleu", ExactMatch.name, ExactMatch),
    ],
)
def test_lines_are_right_or_wrong_where_an_error_rate_chose_the_checkpoints_unless_told_otherwise(
    made, monitor, asked, kind
):
    whole, _ = read([made("dot", **{"objective.monitor": monitor})], score=asked)
    assert isinstance(whole.score, kind)


def test_links_are_sought_only_in_a_text_that_is_not_too_long(made):
    assert read([made("dot")], align=5)[0].links is None
    whole, _ = read([made("gru")], align=6)
    assert (len(whole.links), whole.automatic) == (3, True)
    single = text(sources=lambda split: ["hund", "katze", "maus"])
    assert read([made("none")], single, align=6)[0].links is None


def test_a_score_or_a_number_that_makes_no_sense_is_refused(made):
    for more, said in (({"score": "blue"}, "score=blue"), ({"align": -1}, "align=-1")):
        with pytest.raises(UserError, match=said):
            read([made(str(said))], **more)
