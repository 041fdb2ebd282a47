"""Headings, paragraphs, tables and pictures as Markdown, and as a self-contained HTML page."""

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

STYLE = """
body { font: 16px/1.5 Georgia, 'Times New Roman', serif; max-width: 84em; margin: 2em auto; padding: 0 1em; color: #111;
  background: #fff; }
h1, h2 { font-weight: 600; line-height: 1.2; } h2 { margin-top: 2em; }
.table { overflow-x: auto; margin: 1em 0; }
table { border-collapse: collapse; border-top: 2px solid #111; border-bottom: 2px solid #111; font-size: 0.9em;
  font-variant-numeric: tabular-nums lining-nums; }
th { border-bottom: 1px solid #111; font-weight: 600; } th, td { padding: 0.2em 0.5em; text-align: right;
  white-space: nowrap; vertical-align: top; }
th { white-space: normal; vertical-align: bottom; } .left { text-align: left; } .prose table { width: 100%; }
.prose td { white-space: normal; } .prose td:first-child { width: 10em; } .prose td:last-child { width: 3em; }
@media print { .table { overflow: visible; } }
figure { margin: 1em 0; } img { max-width: 100%; width: 40em; } figcaption, .note { color: #444; font-size: 0.9em;
  max-width: 48em; }
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
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f"<style>\n{STYLE}\n</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n{body}\n</body>\n</html>\n"
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
