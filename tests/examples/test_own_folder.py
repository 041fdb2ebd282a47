"""A folder with a part of one's own in every place, found by --config-dir and PYTHONPATH: trained and used again."""

import sys

import pytest
from support.scripts import TINY, TINY_MODEL, call_script, results

PARTS = '''
"""Parts of one's own."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import CSVLogger
from unrolled.data.corpus import Reorder
from unrolled.data.module import DataModule
from unrolled.models.decoder import CGRUDecoder
from unrolled.models.translator import translator
from unrolled.search.settings import Greedy
from unrolled.text.tokens import SPECIALS
from unrolled.training.translation import Translation


class Letters:
    """A tokenizer: every letter is a piece."""

    def __init__(self, letters):
        self.letters = letters

    @property
    def size(self):
        return len(SPECIALS) + len(self.letters)

    @property
    def sha256(self):
        return hashlib.sha256(self.letters.encode()).hexdigest()

    def encode(self, lines):
        return [[self.letters.find(letter) + len(SPECIALS) for letter in line] for line in lines]

    def decode(self, ids):
        return "".join(self.letters[i - len(SPECIALS)] for i in ids if i >= len(SPECIALS))

    def pieces(self, ids):
        return [([*SPECIALS, *self.letters])[i] for i in ids]

    def words_of_pieces(self, line):
        return [line[:place].count(" ") for place in range(len(line))]

    def save(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "letters").write_text(self.letters)


@dataclass(frozen=True)
class EveryLetter:
    joint: bool = True

    def train(self, paths):
        return Letters("".join(sorted({letter for path in paths for letter in path.read_text() if letter != "\\n"})))

    def load(self, folder):
        return Letters((folder / "letters").read_text())


class Corpus(Reorder): ...


class Module(DataModule): ...


class Decoder(CGRUDecoder): ...


def model(*, width, **options):
    return translator(embedding_size=width, **options)


class Objective(Translation):
    def __init__(self, *, factor, **options):
        super().__init__(**options)
        self.factor = factor

    def _taught(self, loss, batch, weights):
        return loss._replace(objective=self.factor * loss.objective)


class Count(Callback):
    def __init__(self, *, path):
        self.path, self.batches = Path(path), 0

    def on_train_batch_end(self, *_):
        self.batches += 1
        self.path.write_text(str(self.batches))


class Search(Greedy):
    """Greedy, of one word."""

    def __call__(self, generator, batch):
        return [replace(found, tokens=found.tokens[:1]) for found in super().__call__(generator, batch)]


class Logger(CSVLogger): ...
'''

CONF = {
    "tokenizer/letters": "_target_: own_parts.EveryLetter\njoint: true\n",
    "data/mine": "defaults: [reorder, _self_]\ngrammar:\n  _target_: own_parts.Corpus\n"
    "module:\n  _target_: own_parts.Module\n",
    "model/mine": "defaults: [cgru, _self_]\n_target_: own_parts.model\nwidth: 8\n"
    "decoder:\n  _target_: own_parts.Decoder\n",
    "objective/mine": "_target_: own_parts.Objective\n_partial_: true\nlabel_smoothing: 0.0\ndoubly_stochastic: 0.0\n"
    "monitor: val/loss\nmode: min\nfactor: 2.0\n",
    "callbacks/mine": "defaults: [default, _self_]\ncount:\n  _target_: own_parts.Count\n  path: ${run_folder}/count\n",
    "search/mine": "_target_: own_parts.Search\n",
    "logger/mine": "mine:\n  _target_: own_parts.Logger\n  save_dir: ${run_folder}\n",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "own_parts.py").write_text(PARTS, encoding="utf-8")
    for name, text in CONF.items():
        path = tmp_path / "mine" / f"{name}.yaml"
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("own_parts", None)


@pytest.mark.slow
def test_every_part_may_be_ones_own(folder):
    own = [f"{group.partition('/')[0]}={group.partition('/')[2]}" for group in CONF]
    sizes = [option for option in TINY_MODEL if "embedding" not in option]
    short = [*TINY, *sizes, "~model.embedding_size", "data.grammar.pairs=60", "trainer.max_epochs=1"]
    short += ["~callbacks.pictures", "~callbacks.attention_record", "hydra.run.dir=run"]
    done = call_script("train.py", "--config-dir", "mine", *own, *short, cwd=folder)
    assert done.status == 0, done.stderr
    run = folder / "run"
    assert int((run / "count").read_text()) == results(run)["steps"]
    assert (run / "tokenizer" / "target" / "letters").is_file()
    assert list(run.glob("lightning_logs/*/metrics.csv"))
    assert all(len(line) <= 1 for line in (run / "translations" / "test.txt").read_text().splitlines())
    assert "kind: translation" in (run / "config.yaml").read_text()

    done = call_script("translate.py", "run=run", cwd=folder, text="a b\n")
    assert done.status == 2
    assert "add trust=own_parts" in done.stderr
    done = call_script("translate.py", "run=run", "trust=own_parts", cwd=folder, text="a b\nc\n")
    assert (done.status, len(done.stdout.splitlines())) == (0, 2), done.stderr
    done = call_script("train.py", "resume=run", "trust=own_parts", "trainer.max_epochs=2", cwd=folder)
    assert done.status == 0, done.stderr
