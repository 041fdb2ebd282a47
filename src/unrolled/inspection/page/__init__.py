"""attention.html: records of attention as one page that needs nothing else, neither network nor server.

page.html, page.css and the scripts beside this file become one file, with the records inside as JSON. The page may run
and show nothing but that: its Content-Security-Policy names script and style by their hashes and allows no request.
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
"""In the order in which they stand in the page."""


class Shown(NamedTuple):
    """A run on the page: its name, and its snapshots as `record` has them."""

    name: str
    snapshots: Sequence[dict[str, Any]]


def page(runs: Sequence[Shown]) -> str:
    """The page of one run, or of several side by side, as HTML."""
    style = _read("page.css")
    # one scope for all of them, and none of their names outside
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
    # within a script element only < can end it or begin a comment; in JSON it stands in strings alone
    data = data.replace("<", "\\u003c")
    text = _read("page.html")
    for mark, value in {"POLICY": policy, "STYLE": style, "SCRIPT": script, "RECORDS": data}.items():
        before, after = text.split("{{" + mark + "}}")
        text = before + value + after
    return text


def write_page(path: Path, runs: Sequence[Shown]) -> None:
    """Write `page` to ``path`` so that a reader sees the old file or the new one, never half of it."""
    write_text(path, page(runs))


def _read(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
