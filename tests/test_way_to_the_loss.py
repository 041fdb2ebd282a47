"""README's list "From the command to the loss", and that of docs/architecture.md to the hypothesis, are what runs.

python tests/test_way_to_the_loss.py     writes both lists anew
"""

import sys
import tempfile
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import pytest
import torch

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "src"), str(Path(__file__).resolve().parent)]

from support.scripts import ROOT, TINY, TINY_MODEL, call_script, train
from support.way import Watch, between, watched

from unrolled.models.decoder import Decoder
from unrolled.models.encoder import BidirectionalGRU
from unrolled.training.loss import token_loss

TINY_RUN = [*TINY, *TINY_MODEL, "model=cgru", "attention=gru_att", "logger=csv", "trainer.max_steps=1"]
BEGIN, END = "<!-- the way: python tests/test_way_to_the_loss.py -->", "<!-- end of the way -->"
README, ARCHITECTURE = ROOT / "README.md", ROOT / "docs" / "architecture.md"
FILES, NAMES = 14, 20
"""The most that a reader should have to open, and to hold, up to the loss."""
FILES_TO_THE_HYPOTHESIS, NAMES_TO_THE_HYPOTHESIS = 16, 27


def plain_tanh() -> list[Any]:
    """torch's tanh for those of fast/squash.py."""
    tanh = [patch(f"unrolled.models.{module}.tanh", torch.tanh) for module in ("attention", "cells", "readout")]
    return [*tanh, patch("unrolled.models.attention.product_of_tanh", lambda linear, x: linear(torch.tanh(x)))]


def to_the_loss(folder: Path, *, plainly: bool) -> Watch:
    """Of one training step; ``plainly``: by the definitions, not by their replacements in fast/ and linear_loss.

    Without the check that parts fit together, which builds a model of its own where text is new.
    """
    unchecked = patch("unrolled.api.training_job.check_model", lambda *_, **__: None)

    def by_definition(hidden, output, words, smoothing):
        return token_loss(output(hidden), words, smoothing)

    def run() -> None:
        if not plainly:
            with unchecked:
                train(folder, *TINY_RUN, folder="plain" if plainly else "run")
            return
        with ExitStack() as patches:
            for replaced in (
                unchecked,
                patch.object(Decoder, "unroll", Decoder.unroll_plainly),
                patch.object(BidirectionalGRU, "forward", BidirectionalGRU.annotate_by_torch),
                *plain_tanh(),
                patch("unrolled.training.translation.linear_token_loss", by_definition),
                patch("unrolled.training.objective.rounding", lambda model: nullcontext()),
            ):
                patches.enter_context(replaced)
            train(folder, *TINY_RUN, folder="plain" if plainly else "run")

    return watched(("api/training_job.py", "train_in"), "Objective.training_step", "Translator.__init__", run)


def to_the_hypothesis(folder: Path, run: Path, *, plainly: bool) -> Watch:
    """Of one line through translate.py, to the search for it; ``plainly``: as `to_the_loss`."""

    def translate() -> None:
        frozen = patch("unrolled.search.frozen_weights.frozen", lambda models, int8: nullcontext())
        hoisted = patch("unrolled.search.beam.hoisted", lambda models, hypotheses: nullcontext())
        siblings = patch("unrolled.search.beam.siblings", lambda models: nullcontext(Mock()))
        with ExitStack() as patches:
            for each in [frozen, hoisted, siblings, *plain_tanh()] if plainly else []:
                patches.enter_context(each)
            call_script("translate.py", f"run={run}", cwd=folder, text="a b c\n")

    return watched(("commands/translate.py", "main"), "BeamSearch.nbest", "Translator.__init__", translate)


def counted(what: str, watch: Watch) -> None:
    """For the table in docs/architecture.md: pytest -s shows it."""
    executed = {file for file, _ in watch.executed}
    print(f"\n{what}: {len(watch.way)} files, {watch.names} names; executed {len(executed)}, {len(watch.executed)}")


@pytest.mark.slow
def test_readme_has_the_way_to_the_loss(tmp_path):
    watch = to_the_loss(tmp_path, plainly=True)
    counted("to the loss, by the definitions", watch)
    assert between(README, BEGIN, END) == watch.listed()
    assert len(watch.way) <= FILES
    assert watch.names <= NAMES


@pytest.mark.slow
def test_what_trains_is_the_same_way_with_fast_beside_it(tmp_path):
    """The files that run are those of the list, those of fast/, and the loss that makes no logits."""
    watch = to_the_loss(tmp_path, plainly=False)
    counted("to the loss, as it runs", watch)
    more = {file for file in watch.way if f"| `{file}` |" not in between(README, BEGIN, END)}
    assert {file for file in more if not file.startswith("models/fast/")} == {"training/linear_loss.py"}


@pytest.mark.slow
def test_the_page_on_architecture_has_the_way_to_the_hypothesis(trained, tmp_path):
    watch = to_the_hypothesis(tmp_path, trained, plainly=True)
    counted("to the hypothesis, by the definitions", watch)
    assert between(ARCHITECTURE, BEGIN, END) == watch.listed()
    assert len(watch.way) <= FILES_TO_THE_HYPOTHESIS
    assert watch.names <= NAMES_TO_THE_HYPOTHESIS


@pytest.mark.slow
def test_what_translates_is_the_same_way_with_fast_and_frozen_weights(trained, tmp_path):
    watch = to_the_hypothesis(tmp_path, trained, plainly=False)
    counted("to the hypothesis, as it runs", watch)
    more = {file for file in watch.way if f"| `{file}` |" not in between(ARCHITECTURE, BEGIN, END)}
    assert more
    assert all(file.startswith("models/fast/") for file in more)


def _renew(path: Path, watch: Watch) -> None:
    before, rest = path.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    path.write_text(f"{before}{BEGIN}\n{watch.listed()}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain, fast = to_the_loss(folder, plainly=True), to_the_loss(folder, plainly=False)
        hypothesis, translated = (to_the_hypothesis(folder, folder / "run", plainly=way) for way in (True, False))
        counted("to the loss, by the definitions", plain)
        counted("to the loss, as it runs", fast)
        counted("to the hypothesis, by the definitions", hypothesis)
        counted("to the hypothesis, as it runs", translated)
        _renew(README, plain)
        _renew(ARCHITECTURE, hypothesis)
