"""Small language models of different kinds, trained on one text, and what score.py says of text."""

from support.scripts import call_script

TRAIN = ["a dog sees the cat", "the cat sees a <unk>", "a man sees the dog", "dogs sleep", "the man sleeps here"] * 3
TEST = ["a cat sees the dog", "the dog sleeps", "a man sees a <unk>", "dogs sleep here"]
SIZES = ["model.embedding_size=7", "model.hidden_size=11"]
STREAM = ["data.stream=true", "data.stream_rows=3", "data.stream_steps=4", "model.variational=true"]
RUNS = {
    "rnn": ["model=rnn_lm", "tokenizer=word", *SIZES],
    "feedforward": ["model=feedforward_lm", "model.order=3", "tokenizer=word", *SIZES],
    "pieces": ["model=rnn_lm", "tokenizer=bpe", "tokenizer.size=30", *SIZES],
    "stream": ["model=rnn_lm", "tokenizer=word", *SIZES, *STREAM, "callbacks=gradient_norms"],
}


def train_all(folder):
    """val.txt, test.txt and a trained language model for each of RUNS, in ``folder``."""
    for split, lines in {"train": TRAIN, "val": TEST, "test": TEST}.items():
        (folder / f"{split}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    data = ["data=monolingual_text", *(f"data.{split}={split}.txt" for split in ("train", "val", "test"))]
    for name, options in RUNS.items():
        more = ["trainer.max_epochs=2", "optimizer.lr=0.03", "logger=csv", f"hydra.run.dir={name}"]
        done = call_script("train.py", *data, *options, *more, cwd=folder)
        assert done.status == 0, done.stderr


def score(folder, *arguments, text=None, run="rnn"):
    text = "".join(f"{line}\n" for line in TEST) if text is None else text
    return call_script("score.py", f"run={run}", *arguments, cwd=folder, text=text)


def numbers(stdout):
    return [float(line) for line in stdout.splitlines()]


def rows(stdout):
    """A table: first column -> the others."""
    return {line.split()[0]: line.split()[1:] for line in stdout.splitlines()}


def figures(done):
    """Of the first column, whose head is alone on its line."""
    return {name: float(cells[0]) for name, cells in rows(done.stdout).items() if cells}
