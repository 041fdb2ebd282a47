"""Hostile text files, seeded and counted: each is read without a shift, or refused in one line.

    python -m tests.campaign.hostile_text [cases] [seed]

A case is a parallel text whose files hold bytes that text files should not hold, yet do: control characters, line ends
of other systems, separators of Unicode, byte-order marks, invalid UTF-8, NUL, unpaired surrogates, long lines, damaged
gzip, folders and pipes in place of files. Line i of either file begins with the word m<i>, so that a shift by a single
line is seen: after training a tokenizer and reading everything back from the ids, line i must begin with m<i>, on both
sides, and there must be as many lines as line feeds. The same bytes are read once more as a pipe.
"""

import gzip
import io
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from unrolled.data.corpus import ParallelText
from unrolled.data.module import DataModule
from unrolled.errors import UserError
from unrolled.text.lines import read_lines
from unrolled.text.pipe import arriving
from unrolled.text.tokenizer import SentencePiece, Words

SHORT, LONG = 40, 600
LINES = 24

INSIDE = {  # within a line; the text continues behind it
    "nothing": b"",
    "carriage return": b"\r",
    "two carriage returns": b"\r\r",
    "line separator U+2028": b"\xe2\x80\xa8",
    "paragraph separator U+2029": b"\xe2\x80\xa9",
    "next line U+0085": b"\xc2\x85",
    "vertical tab": b"\x0b",
    "form feed": b"\x0c",
    "file separator": b"\x1c",
    "escape sequence": b"\x1b[31m",
    "byte-order mark": b"\xef\xbb\xbf",
    "no-break space": b"\xc2\xa0",
    "ideographic space": b"\xe3\x80\x80",
    "zero width joiner": b"\xe2\x80\x8d",
    "right-to-left override": b"\xe2\x80\xae",
    "combining marks": b"a" + b"\xcc\x81" * 60,
    "emoji family": "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}".encode(),
    "the last code point": b"\xf4\x8f\xbf\xbf",
    "not a character U+FFFF": b"\xef\xbf\xbf",
    "special tokens": b"<s> </s> <pad> <unk>",
    "SentencePiece's space": b"\xe2\x96\x81\xe2\x96\x81",
    "tabs and spaces": b"\t \t  ",
    "an interpolation": b"${oc.env:HOME} ||| $(touch x) %s {}",
    "a long word": b"x" * 20_000,
    "a long line": b"y " * 20_000,
}
REFUSED = {
    "NUL": b"\0",
    "an invalid byte": b"\xff",
    "a sequence cut short": b"\xe2\x82",
    "an overlong slash": b"\xc0\xaf",
    "an unpaired surrogate": b"\xed\xa0\x80",
    "beyond Unicode": b"\xf4\x90\x80\x80",
}
ENDS = {"LF": b"\n", "CR LF": b"\r\n"}
FILES = ("plain", "plain", "plain", "plain", "no last line feed", "byte-order mark", "gzip", "gzip cut short")
FILES += ("gzip in name only", "gzip, damaged", "empty", "only line feeds", "one line less", "a folder", "a named pipe")
FILES += ("a link to itself", "missing", "UTF-16", "a zip of zeros")


def content(draw: random.Random) -> tuple[bytes, int, list[str]]:
    """The bytes of one side, how many lines they are, and what is hostile in them."""
    held = INSIDE | REFUSED if draw.random() < 0.15 else INSIDE
    what = [draw.choice(list(held)) for _ in range(draw.randint(1, 3))]
    end = draw.choice(list(ENDS))
    lines = []
    for number in range(LINES):
        inside = held[draw.choice(what)] if draw.random() < 0.5 else b""
        words = b" ".join(b"w%d" % draw.randint(0, 9) for _ in range(draw.randint(0, 6)))
        lines.append(b"m%d " % number + words + draw.choice([b" ", b""]) + inside + draw.choice([b"", b" tail"]))
    return b"".join(line + ENDS[end] for line in lines), LINES, [*what, end]


def write(path: Path, data: bytes, kind: str) -> Path:
    """A file of ``kind`` that holds ``data``, or should."""
    if kind.startswith("gzip"):
        path = path.with_name(f"{path.name}.gz")
        packed = gzip.compress(data)
        damaged = packed[: len(packed) // 2] + b"????" + packed[len(packed) // 2 + 4 :]
        data = {"gzip": packed, "gzip cut short": packed[:-12], "gzip, damaged": damaged}.get(kind, data)
    if kind == "a zip of zeros":
        path = path.with_name(f"{path.name}.gz")
        data = gzip.compress(bytes(20_000_000))
    data = {
        "no last line feed": data.rstrip(b"\r\n"),
        "byte-order mark": b"\xef\xbb\xbf" + data,
        "empty": b"",
        "only line feeds": b"\n" * LINES,
        "one line less": data.partition(b"\n")[2],
        "UTF-16": data.decode("utf-8", "replace").encode("utf-16"),
    }.get(kind, data)
    if kind == "a folder":
        path.mkdir()
    elif kind == "a named pipe":
        os.mkfifo(path)
    elif kind == "a link to itself":
        path.symlink_to(path)
    elif kind != "missing":
        path.write_bytes(data)
    return path


def one_line(problem: UserError) -> None:
    """A refusal is one line that can be read."""
    message = str(problem)
    assert message, problem
    assert "\n" not in message, message
    assert len(message) < 600, message


def check(case: int, seed: int, folder: Path) -> str:
    """One case: ``read`` or ``refused``; AssertionError for a shift, anything but a UserError as it is."""
    draw = random.Random(f"{seed}/{case}")
    tokenizer: Any = draw.choice([Words(), SentencePiece(size=120), SentencePiece(kind="bpe", size=150, joint=False)])
    paths, datas = [], []
    for side in ("source", "target"):
        data, _, _ = content(draw)
        kind = draw.choice(FILES) if draw.random() < 0.4 else "plain"
        paths.append(write(folder / side, data, kind))
        datas.append(data)
    good = write(folder / "good", b"".join(b"m%d w1 w2\n" % number for number in range(LINES)), "plain")
    files = {"train": paths, "val": [good, good], "test": [good, good]}
    for path, data in zip(paths, datas, strict=True):
        piped(data, path)
    try:
        corpus = ParallelText(**{split: list(map(str, pair)) for split, pair in files.items()})  # type: ignore[arg-type]
        module = DataModule(
            corpus=corpus, tokenizer=tokenizer, cache=folder / "cache", max_tokens=200, max_length=90, seed=1
        )
        module.prepare_data()
        module.setup()
    except UserError as problem:
        one_line(problem)
        return "refused"
    sides = module._stores["train"], (module.source_tokenizer, module.target_tokenizer)
    for path, store, vocabulary in zip(paths, *sides, strict=True):
        lines = list(read_lines(path))
        assert len(store) == len(lines), (path, len(store), len(lines))
        for number, line in enumerate(lines):
            if not line.strip():
                continue
            assert line.startswith(f"m{number} "), (path, number, line[:40])
            text = vocabulary.decode(store[number].tolist()).split()
            assert text, (path, number)
            assert text[0] == f"m{number}", (path, number, text[:3])
    return "read"


def piped(data: bytes, path: Path) -> None:
    """The same bytes from a pipe: the lines of the file, in chunks, up to what is refused."""
    expected = data.split(b"\n")[:-1] if data.endswith(b"\n") else data.split(b"\n")
    lines: list[str] = []
    refusal = None
    try:
        for chunk in arriving(io.BytesIO(data), "standard input", 5):  # type: ignore[arg-type]
            assert 1 <= len(chunk) <= 5, path
            lines += chunk
    except UserError as problem:
        refusal = problem
    if refusal is None:
        assert len(lines) == len(expected), (path, len(lines), len(expected))
    else:
        one_line(refusal)
        assert f":{len(lines) + 1}:" in str(refusal), refusal
    assert [line.encode() for line in lines] == [line.removesuffix(b"\r") for line in expected[: len(lines)]], path


def campaign(cases: int, seed: int) -> Counter[str]:
    """How many cases were read and how many refused; raises at the first that was neither."""
    counts = Counter[str]()
    for case in range(cases):
        folder = Path(tempfile.mkdtemp(prefix="hostile-text-"))
        try:
            counts[check(case, seed, folder)] += 1
        except BaseException as problem:
            problem.add_note(f"case {case} of seed {seed}: python -m tests.campaign.hostile_text {case + 1} {seed}")
            raise
        finally:
            shutil.rmtree(folder)
    return counts


if __name__ == "__main__":
    number, chosen = (int(word) for word in (*sys.argv[1:], *(str(LONG), "1")[len(sys.argv) - 1 :]))
    print(f"{number} hostile texts, seed {chosen}: {dict(campaign(number, chosen))}, no shift, no other error")
