"""A small text for n-gram models, and how a run scores text."""

import json

from support.scripts import call_script

TEXT = {
    "train": ["the dog sees the cat", "the cat sleeps", "a dog sleeps here", "the dog sleeps", ""] * 3 + ["so so"],
    "val": ["the dog sees a cat", "", "a cat sleeps"],
    "test": ["the cat sees the dog", "elephants sleep well", ""],
}
NGRAMS = ["model=ngram_lm", "logger=csv", "hydra.run.dir=run"]


def options(folder):
    """The text as data of train.py; its files are written to ``folder``."""
    for split, lines in TEXT.items():
        (folder / f"{split}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return ["data=monolingual_text", "tokenizer=word", *(f"data.{split}={folder / split}.txt" for split in TEXT)]


def scored(run, text, cwd):
    """The sentences' log-probabilities and all their pieces."""
    done = call_script("score.py", f"run={run}", "detail=tokens", cwd=cwd, text=text)
    assert done.status == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return [row["log_probability"] for row in rows], [piece for row in rows for piece in row["tokens"]]
