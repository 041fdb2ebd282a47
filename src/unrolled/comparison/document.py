"""Headings, paragraphs, tables and pictures as Markdown, and as a self-contained HTML page."""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from unrolled.inspection.page import theme

STYLE = """
body { max-width: 84rem; margin: 0 auto; padding: 1.4rem 1.8rem 3rem; }
h2 { margin: 2.2rem 0 .6rem; font-size: 1.05rem; font-weight: 650; }
.table { overflow-x: auto; margin: .8rem 0; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums lining-nums; }
th { padding: .3rem .7rem; color: var(--soft); font-size: .8rem; font-weight: 500; text-align: right;
  vertical-align: bottom; border-bottom: 1px solid var(--line); }
td { padding: .3rem .7rem; text-align: right; white-space: nowrap; vertical-align: top;
  border-bottom: 1px solid var(--grid); }
td b { font-weight: 650; color: var(--accent); }
tr:hover td { background: var(--back); }
.left { text-align: left; }
.prose table { width: 100%; } .prose td { white-space: normal; }
.prose td:first-child { width: 10rem; color: var(--soft); } .prose td:last-child { width: 3rem; }
figure { margin: 1rem 0; } img { display: block; max-width: 100%; width: 40rem; padding: .5rem; background: #fff;
  border: 1px solid var(--line); border-radius: 8px; }
figcaption, .note { margin: .6rem 0; color: var(--soft); font-size: .85rem; max-width: 52rem; }
@media (max-width: 56rem) { body { padding: 1rem; } td, th { padding: .3rem .45rem; }
  .prose td:first-child { width: 6rem; } }
@media print { .table { overflow: visible; } }
""".strip()


@dataclass(frozen=True)
class Heading:
    """The heading of a section."""

    text: str


@dataclass(frozen=True)
class Paragraph:
    """Lines of running text."""

    text: str


@dataclass(frozen=True)
class Table:
    """``rows`` of cells, all as long as ``head``; the first ``left`` columns are text, aligned to the left.

    bold: (row, column) of cells, rows counted without the head. prose: cells contain sentences, which may be wrapped.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    bold: frozenset[tuple[int, int]] = field(default_factory=frozenset)
    prose: bool = False


@dataclass(frozen=True)
class Picture:
    """A PNG file in the document's folder, and its caption."""

    path: Path
    caption: str


Block = Heading | Paragraph | Table | Picture


def markdown(title: str, blocks: Sequence[Block]) -> str:
    """GitHub's Markdown; all text is taken literally."""
    return "\n\n".join([f"# {_literal(title)}", *map(_markdown, blocks)]) + "\n"


def html(title: str, blocks: Sequence[Block]) -> str:
    """One page with embedded pictures; all text is taken literally."""
    body = fragment(blocks)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}</title>\n'
        f"<style>\n{theme()}{STYLE}\n</style>\n</head>\n<body>\n"
        f"<h1><small>unrolled</small>{escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def fragment(blocks: Sequence[Block]) -> str:
    """The blocks as part of a page, without a style of its own."""
    return "\n".join(map(_html, blocks))


def _markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return f"## {_literal(block.text)}"
    if isinstance(block, Paragraph):
        return _literal(block.text)
    if isinstance(block, Picture):
        return f"![{block.path.stem}]({block.path.name})\n\n{_literal(block.caption)}"
    lines = [[_literal(cell) for cell in block.head]]
    lines += [["---" if column < block.left else "---:" for column in range(len(block.head))]]
    for number, row in enumerate(block.rows):
        cells = [_literal(cell) for cell in row]
        lines.append([f"**{cell}**" if (number, column) in block.bold else cell for column, cell in enumerate(cells)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _literal(text: str) -> str:
    """Escaped for Markdown and HTML, on one line."""
    return re.sub(r"([\\`*_\[\]<>|~&$])", r"\\\1", " ".join(text.split()))


def _html(block: Block) -> str:
    if isinstance(block, Heading):
        return f"<h2>{escape(block.text)}</h2>"
    if isinstance(block, Paragraph):
        return f'<p class="note">{escape(block.text)}</p>'
    if isinstance(block, Picture):
        image = base64.b64encode(block.path.read_bytes()).decode("ascii")
        caption = escape(block.caption)
        return f'<figure><img src="data:image/png;base64,{image}" alt=""><figcaption>{caption}</figcaption></figure>'
    head = "".join(_cell("th", column, block, escape(cell)) for column, cell in enumerate(block.head))
    rows = [f"<tr>{head}</tr>"]
    for number, row in enumerate(block.rows):
        cells = [
            f"<b>{escape(cell)}</b>" if (number, at) in block.bold else escape(cell) for at, cell in enumerate(row)
        ]
        rows.append("<tr>" + "".join(_cell("td", at, block, cell) for at, cell in enumerate(cells)) + "</tr>")
    table = "\n".join(rows)
    return f'<div class="table{" prose" if block.prose else ""}"><table>\n{table}\n</table></div>'


def _cell(name: str, column: int, table: Table, content: str) -> str:
    return f"<{name}{' class=left dir=auto' if column < table.left else ''}>{content}</{name}>"
