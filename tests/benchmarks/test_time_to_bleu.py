"""The benchmark records a training's curve as it goes, stops one that does not stop itself, and reads and draws it."""

import json
import sys
import time

import pytest
import time_to_bleu
from support.scripts import TINY_MODEL
from time_to_bleu import Validation

WORDS = ["ein", "hund", "läuft", "über", "die", "wiese", "und", "zwei", "kinder", "sehen", "ihm", "zu"]
TINY_OPTIONS = [*TINY_MODEL, "attention.size=8", "tokenizer=word", "data.max_tokens=100", "trainer.max_steps=8"]


class Fake:
    """Writes its validations where the benchmark looks for them."""

    name, ends_itself = "fake", True

    def __init__(self, folder, code):
        self._folder = folder
        self.command = [
            sys.executable,
            "-S",
            "-c",
            f"from pathlib import Path; log = Path({str(folder)!r}, 'said')\n{code}",
        ]

    def validations(self):
        path = self._folder / "said"
        return (
            [Validation(1, 10 * int(line), float(line)) for line in path.read_text().split()] if path.exists() else []
        )

    def test_bleu(self):
        return 7.0


def trained(contestant, folder, seconds=60.0):
    return list(time_to_bleu.train(contestant, folder, seconds))


def test_ours_leaves_a_curve_and_a_test(tmp_path, monkeypatch, capsys):
    for split, lines in {"train": 64, "val": 6, "test_2016_flickr": 5}.items():
        text = "".join(" ".join(WORDS[line % 7 : 4 + line % 9]) + "\n" for line in range(lines))
        for language in ("en", "de"):
            (tmp_path / f"{split}.{language}").write_text(text, encoding="utf-8")
    folder = tmp_path / "out"
    command = ["time_to_bleu.py", "--data", str(tmp_path), "--folder", str(folder), "--seconds", "20"]
    monkeypatch.setattr(
        sys, "argv", [*command, "--only", "unrolled", "--", *TINY_OPTIONS, "trainer.val_check_interval=0.5"]
    )
    time_to_bleu.main()
    lines = [json.loads(line) for line in (folder / "curves.jsonl").read_text(encoding="utf-8").splitlines()]
    curve, test = lines[:-1], lines[-1]
    assert len(curve) > 1
    for name in ("updates", "seconds", "cpu_seconds"):
        values = [line[name] for line in curve]
        assert values[0] > 0
        assert values == sorted(values)  # two that end within a moment have the same seconds
    assert len({line["updates"] for line in curve}) == len(curve)
    assert all(0 <= line["bleu"] <= 100 for line in curve)
    assert 0 <= test["test_bleu"] <= 100
    assert capsys.readouterr().out.splitlines()[-1].startswith("| unrolled |")
    with pytest.raises(SystemExit, match="a run is there; give this one another name with --name"):
        time_to_bleu.main()


def test_a_python_that_is_not_there_is_one_line(tmp_path):
    fake = Fake(tmp_path, "")
    fake.command = ["/nowhere/python"]
    with pytest.raises(SystemExit, match=r"^--fake /nowhere/python: No such file or directory$"):
        trained(fake, tmp_path)


def test_validations_have_the_seconds_of_their_process_and_its_children(tmp_path):
    child = "import time\nwhile time.process_time() < 0.5: pass"
    code = "log.write_text('1'); import subprocess, sys, time; time.sleep(1)\n"
    code += f"subprocess.run([sys.executable, '-S', '-c', {child!r}]); log.write_text('1 2'); time.sleep(0.5)"
    first, second, test = trained(Fake(tmp_path, code), tmp_path)
    assert (first["updates"], second["updates"], test) == (10, 20, {"test_bleu": 7.0})
    assert second["seconds"] - first["seconds"] > 0.5
    assert second["cpu_seconds"] - first["cpu_seconds"] > 0.35  # the child's 0.5; both are rounded to 0.1


def test_one_that_does_not_end_is_stopped_and_tested(tmp_path):
    contestant = Fake(tmp_path, "log.write_text('3'); import time; time.sleep(99)")
    contestant.ends_itself = False
    start = time.monotonic()
    validation, test = trained(contestant, tmp_path, 0.6)
    assert time.monotonic() - start < 50
    assert validation["updates"] == 30
    assert test == {"test_bleu": 7.0}


def test_one_that_fails_is_one_line(tmp_path):
    with pytest.raises(SystemExit, match=r"log: ValueError: no such text$"):
        trained(Fake(tmp_path, "raise ValueError('no such text')"), tmp_path)


def test_the_goals_lie_between_validations(tmp_path):
    points = [(10.0, 40.0, 10.0), (20.0, 60.0, 30.0), (30.0, 90.0, 28.0)]
    lines = [{"run": "a", "cpu_seconds": cpu, "seconds": clock, "bleu": bleu} for cpu, clock, bleu in points]
    lines.append({"run": "a", "test_bleu": 31.5})
    (tmp_path / "curves.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    runs = time_to_bleu.read(tmp_path)
    assert (
        time_to_bleu.table(runs).splitlines()[-1]
        == "| a | 15 (50) | 18 (56) | 20 (60) |  |  | 30.00 | 20 (60) | 31.50 |"
    )
    time_to_bleu.figure(runs, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_joeynmt_is_scored_by_what_it_wrote(tmp_path):
    contestant = object.__new__(time_to_bleu.JoeyNMT)
    contestant._folder, contestant._references, contestant._known = tmp_path, ["a b c d", "e"], {}
    contestant._sentences, contestant._batch = 144, 72
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "10.hyps").write_text("a b c d\ne\n", encoding="utf-8")
    (tmp_path / "model" / "2.hyps").write_text("a b c e\n", encoding="utf-8")  # it is still writing
    ((epoch, updates, bleu),) = contestant.validations()
    assert (epoch, updates) == (6, 10)
    assert bleu == pytest.approx(100)


def test_joeynmt_halves_its_rate_with_every_epoch_or_on_a_plateau():
    halving = time_to_bleu.schedule_of(time_to_bleu.Tuned(rate=3e-3, halve=True))
    assert halving == {"scheduling": "exponential", "learning_rate": 6e-3, "decrease_factor": 0.5}
    plateau = time_to_bleu.schedule_of(time_to_bleu.Tuned(rate=3e-3))
    assert (plateau["scheduling"], plateau["learning_rate"]) == ("plateau", 3e-3)
