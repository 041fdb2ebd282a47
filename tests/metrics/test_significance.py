"""Our p-values are those of the sacrebleu command for the same lines in files."""

import json
import random
import re
import subprocess
import sys

import pytest

from unrolled.metrics.significance import paired_tests
from unrolled.metrics.translation_scores import translation_scores

WORDS = [
    "der",
    "die",
    "das",
    "ein",
    "eine",
    "Mann",
    "Frau",
    "Hund",
    "Kind",
    "geht",
    "läuft",
    "sieht",
    "hat",
    "kleine",
    "alte",
    ",",
    ".",
]


def sentences(seed, number=40, noise=0.0):
    """References of ``seed``, or translations of them: a share of the words is another one."""
    texts, errors = random.Random(seed), random.Random(1000 + int(noise * 100))
    lines = []
    for _ in range(number):
        words = [texts.choice(WORDS) for _ in range(texts.randint(4, 15))]
        lines.append(" ".join(errors.choice(WORDS) if errors.random() < noise else word for word in words))
    return lines


REFERENCES = sentences(3)
BASELINE = sentences(3, noise=0.3)
SYSTEMS = {"near": sentences(3, noise=0.28), "far": sentences(3, noise=0.6)}


def command(folder, *options):
    """What sacrebleu prints: the systems in rows, the metrics in columns."""
    for name, lines in {"ref": REFERENCES, "base": BASELINE, **SYSTEMS}.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    words = [sys.executable, "-m", "sacrebleu", "ref", "-i", "base", *SYSTEMS, "-m", "bleu", "chrf", "-w", "10"]
    done = subprocess.run([*words, *options], cwd=folder, capture_output=True, text=True, check=True, encoding="utf-8")
    return done.stdout


@pytest.fixture(scope="module")
def tests():
    return paired_tests(BASELINE, SYSTEMS, REFERENCES, bootstrap=70, randomization=110)


def test_approximate_randomisation_is_the_command_s(tests, tmp_path):
    printed = json.loads(command(tmp_path, "--paired-ar", "--paired-ar-n", "110", "-f", "json"))
    assert [system["system"] for system in printed[1:]] == ["near", "far"]
    for system in printed[1:]:
        for name, metric in (("bleu", "BLEU"), ("chrf", "chrF2")):
            ours = tests[system["system"]][name]
            assert ours.randomization == system[metric]["p_value"]
            assert ours.score == pytest.approx(system[metric]["score"], abs=1e-9)
            assert ours.baseline == pytest.approx(printed[0][metric]["score"], abs=1e-9)


def test_paired_bootstrap_is_the_command_s(tests, tmp_path):
    # its JSON has no paired bootstrap (2.6.0: "float32 is not JSON serializable")
    printed = command(tmp_path, "--paired-bs", "--paired-bs-n", "70", "-f", "text")
    p_values = [float(p) for p in re.findall(r"p = ([\d.]+)", printed)]
    ours = [tests[system][name].bootstrap for system in ("near", "far") for name in ("bleu", "chrf")]
    assert len(p_values) == 4
    assert [f"{p:.4f}" for p in ours] == [f"{p:.4f}" for p in p_values]


def test_a_clear_difference_is_told_from_an_unclear_one(tests):
    assert tests["far"]["bleu"].difference < 0
    for scores in tests["far"].values():
        assert max(scores.bootstrap, scores.randomization) < 0.02
    assert min(tests["near"]["bleu"].bootstrap, tests["near"]["bleu"].randomization) > 0.05


def test_tokenisation_and_case_are_those_asked_for():
    upper = [line.upper() for line in BASELINE]
    for scoring in ({"tokenize": "none", "lowercase": True}, {"tokenize": "char"}):
        scores = paired_tests(upper, SYSTEMS, REFERENCES, bootstrap=3, randomization=3, **scoring)["near"]["bleu"]
        assert scores.baseline == pytest.approx(translation_scores(upper, REFERENCES, **scoring).bleu)
        assert scores.score == pytest.approx(translation_scores(SYSTEMS["near"], REFERENCES, **scoring).bleu)


def test_a_system_is_not_better_than_itself():
    scores = paired_tests(BASELINE, {"again": BASELINE}, REFERENCES, bootstrap=9, randomization=9)["again"]["bleu"]
    assert (scores.difference, scores.bootstrap, scores.randomization) == (0, 1, 1)


def test_what_cannot_be_tested_is_refused():
    with pytest.raises(ValueError, match="equally many"):
        paired_tests(BASELINE, {"short": BASELINE[1:]}, REFERENCES)
    with pytest.raises(ValueError, match="no hypotheses"):
        paired_tests([], {"none": []}, [])
    with pytest.raises(ValueError, match="randomization=0"):  # sacreBLEU would take 10,000
        paired_tests(BASELINE, SYSTEMS, REFERENCES, randomization=0)
