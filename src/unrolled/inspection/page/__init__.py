"""attention.html: records of attention as a self-contained page that needs neither network nor server.

page.html, theme.css, page.css and the scripts in this folder become one file, with the records embedded as JSON. The
page can run and show nothing else: its Content-Security-Policy names script and style by their hashes and allows no
request.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from unrolled.files import write_text

PAGE = "attention.html"
SCRIPTS = ("records.js", "elements.js", "controls.js", "matrix.js", "links.js", "page.js")
"""In the order in which the page has them."""


class Shown(NamedTuple):
    """A run on the page: its name, and its snapshots in the format of `record`."""

    name: str
    snapshots: Sequence[dict[str, Any]]


def page(runs: Sequence[Shown]) -> str:
    """The page of one run, or of several side by side, as HTML."""
    style = theme() + _read("page.css")
    # one common scope, and no global names
    script = '"use strict";\n(() => {\n' + "\n".join(map(_read, SCRIPTS)) + "})();\n"
    policy = "; ".join(
        [
            "default-src 'none'",
            f"style-src {_hash(style)}",
            f"script-src {_hash(script)}",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    data = json.dumps([run._asdict() for run in runs], ensure_ascii=False, separators=(",", ":"))
    # within a script element only < can end it or begin a comment; in JSON it occurs only within strings
    data = data.replace("<", "\\u003c")
    text = _read("page.html")
    for mark, value in {"POLICY": policy, "STYLE": style, "SCRIPT": script, "RECORDS": data}.items():
        before, after = text.split("{{" + mark + "}}")
        text = before + value + after
    return text


def theme() -> str:
    """The style that all pages of unrolled share: colours, light and dark, and type."""
    return _read("theme.css")


def write_page(path: Path, runs: Sequence[Shown]) -> None:
    """Write `page` to ``path`` so that a reader sees the old file or the new one, never half of it."""
    write_text(path, page(runs))


def _read(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
