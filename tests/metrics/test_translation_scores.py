"""Our figures are those of the sacrebleu command for the same lines in files."""

import json
import logging
import math
import subprocess
import sys

import pytest

from unrolled.errors import UserError
from unrolled.metrics.translation_scores import (
    WITHOUT_PACKAGES,
    bleu_by_length,
    bleu_metric,
    check_bleu_tokenize,
    translation_scores,
)

REFERENCES = [
    "Ein Mann mit einem orangefarbenen Hut, der etwas anstarrt.",
    "Ein Boston Terrier läuft über saftig-grünes Gras vor einem weißen Zaun.",
    "Ein Mädchen in einem Karateanzug bricht ein Brett mit einem Tritt.",
    "Fünf Leute in Winterjacken und mit Helmen stehen im Schnee.",
    "Leute Reparieren das Dach eines Hauses.",
]
HYPOTHESES = [
    "Ein Mann mit einem orangefarbenen Hut starrt etwas an.",
    "ein Boston Terrier läuft über grünes Gras vor einem weißen Zaun .",
    "Ein Mädchen in einem Karateanzug bricht ein Brett.",
    "",
    "Leute reparieren das Dach eines Hauses.",
]


def command(tmp_path, hypotheses, references, *options):
    """What sacrebleu prints for the lines written to files: the figures and the signatures, by metric."""
    for name, lines in (("hyp.txt", hypotheses), ("ref.txt", references)):
        (tmp_path / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")
    words = [sys.executable, "-m", "sacrebleu", "ref.txt", "-i", "hyp.txt", "-m", "bleu", "chrf", "ter", "-w", "10"]
    done = subprocess.run([*words, *options], cwd=tmp_path, capture_output=True, text=True, check=True)
    printed = json.loads(done.stdout)
    names = [{"BLEU": "bleu", "chrF2": "chrf", "TER": "ter"}[part["name"]] for part in printed]
    return ({name: part[what] for name, part in zip(names, printed)} for what in ("score", "signature"))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({}, []),
        ({"tokenize": "none"}, ["-tok", "none", "--force"]),
        ({"tokenize": "intl", "lowercase": True}, ["-tok", "intl", "-lc"]),
    ],
)
def test_figures_and_signatures_equal_the_command_s(tmp_path, ours, theirs):
    scores = translation_scores(HYPOTHESES, REFERENCES, **ours)
    printed, signatures = command(tmp_path, HYPOTHESES, REFERENCES, *theirs)
    assert f"{scores.bleu:.10f}" == f"{printed['bleu']:.10f}"
    assert f"{scores.chrf:.10f}" == f"{printed['chrf']:.10f}"
    assert f"{scores.ter:.10f}" == f"{printed['ter']:.10f}"
    assert scores.signatures == signatures


def test_the_plain_command_prints_our_bleu(tmp_path):
    scores = translation_scores(HYPOTHESES, REFERENCES)
    command(tmp_path, HYPOTHESES, REFERENCES)
    done = subprocess.run(
        [sys.executable, "-m", "sacrebleu", "ref.txt", "-i", "hyp.txt", "-m", "bleu", "-b", "-w", "10"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == f"{scores.bleu:.10f}"


def test_every_option_changes_the_figures():
    plain = translation_scores(HYPOTHESES, REFERENCES)
    assert translation_scores(HYPOTHESES, REFERENCES, tokenize="none").bleu != plain.bleu
    assert translation_scores(HYPOTHESES, REFERENCES, lowercase=True).bleu != plain.bleu


def test_a_perfect_translation():
    scores = translation_scores(REFERENCES, REFERENCES)
    assert scores.bleu == pytest.approx(100)
    assert scores.chrf == pytest.approx(100)
    assert scores.ter == 0
    assert translation_scores([""] * 5, REFERENCES).bleu == 0


def test_tokenised_text_scored_as_such_gives_no_warning(caplog):
    lines = ["ein mann geht ."] * 120
    with caplog.at_level(logging.WARNING):
        translation_scores(lines, lines, tokenize="none")
        assert not caplog.records
        translation_scores(lines, lines, tokenize="13a")
        assert "tokenized period" in caplog.text


def test_unequal_or_no_lines_are_errors():
    with pytest.raises(ValueError, match=r"\[4, 5\]"):
        translation_scores(HYPOTHESES[:4], REFERENCES)
    with pytest.raises(ValueError, match="no hypotheses"):
        translation_scores([], [])
    with pytest.raises(ValueError, match=r"\[5, 5, 3\]"):
        bleu_by_length(HYPOTHESES, REFERENCES, [1, 2, 3], [0, 10])


def test_an_unknown_tokenisation_is_the_user_s_mistake():
    with pytest.raises(UserError, match=r"bleu_tokenize=moses.*13a"):
        translation_scores(HYPOTHESES, REFERENCES, tokenize="moses")
    with pytest.raises(UserError, match=r"did you mean 13a\?"):
        check_bleu_tokenize("13A")


def test_a_tokenisation_whose_package_is_missing_is_the_user_s_mistake(monkeypatch):
    def missing(**_):
        raise RuntimeError("Japanese tokenization requires\nextra dependencies")

    monkeypatch.setattr("sacrebleu.metrics.bleu.BLEU.__init__", lambda self, **_: missing())
    with pytest.raises(UserError, match="bleu_tokenize=ja-mecab: sacreBLEU says: Japanese tokenization requires extra"):
        check_bleu_tokenize("ja-mecab")


def test_what_needs_no_package_is_made():
    for tokenize in WITHOUT_PACKAGES:
        assert bleu_metric(tokenize, lowercase=False).corpus_score(["a b c d"], [["a b c d"]]).score == pytest.approx(
            100
        )


def test_bleu_by_length_scores_each_group_as_a_corpus():
    groups = bleu_by_length(HYPOTHESES, REFERENCES, [9, 10, 19, 0, 50], [0, 10, 20, 30], tokenize="none")
    assert [(group.low, group.high, group.sentences) for group in groups] == [(0, 9, 2), (10, 19, 2), (30, math.inf, 1)]
    for group, rows in zip(groups, ([0, 3], [1, 2], [4])):
        part = translation_scores([HYPOTHESES[r] for r in rows], [REFERENCES[r] for r in rows], tokenize="none")
        assert group.bleu == part.bleu
    (whole,) = bleu_by_length(HYPOTHESES, REFERENCES, [5] * 5, [5], lowercase=True)
    assert whole.bleu == translation_scores(HYPOTHESES, REFERENCES, lowercase=True).bleu
    with pytest.raises(ValueError, match="shorter than the first edge"):
        bleu_by_length(HYPOTHESES, REFERENCES, [4, 5, 5, 5, 5], [5])
