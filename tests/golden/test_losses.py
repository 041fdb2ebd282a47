"""The losses of the first steps of a tiny training run are those of before: no silent change of numbers.

A change that is meant (another initialisation, another order of batches, another grammar) renews the file:

    python tests/golden/test_losses.py
"""

import json
import sys
import tempfile
from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parent / "losses.json"
STEPS = 20

if __name__ == "__main__":
    sys.path[:0] = [str(GOLDEN.parents[2] / "src"), str(GOLDEN.parents[1])]

import torch  # noqa: E402
from support.scripts import TINY, TINY_MODEL, call_script  # noqa: E402


def losses(folder: Path) -> list[float]:
    """train/loss, nats a token, of each of the first steps of cgru with gru_att, on one thread."""
    more = ["model=cgru", "attention=gru_att", f"trainer.max_steps={STEPS}", "trainer.log_every_n_steps=1"]
    more += ["logger=csv", "~callbacks.pictures", "hardware=cpu", "seed=3", "hydra.run.dir=run"]
    more += ["attention.size=7", "optimizer.lr=0.01", "objective.label_smoothing=0.1"]  # whatever the defaults become
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        assert call_script("train.py", *TINY, *TINY_MODEL, *more, cwd=folder).status == 0
    finally:
        torch.set_num_threads(threads)
    header, *rows = (folder / "run" / "metrics.csv").read_text(encoding="utf-8").splitlines()
    column = header.split(",").index("train/loss")
    return [float(row.split(",")[column]) for row in rows if row.split(",")[column]]


def test_losses_are_those_of_before(tmp_path):
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert len(golden) == STEPS
    assert golden[-1] < golden[0]
    assert losses(tmp_path) == pytest.approx(golden, rel=1e-4)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        GOLDEN.write_text(json.dumps(losses(Path(folder)), indent=1) + "\n", encoding="utf-8")
