"""attention.html: records of attention as one page that needs nothing else, neither network nor server.

page.html, page.css and page.js beside this file become one file, with the records inside as JSON. The page may run and
show nothing but that: its Content-Security-Policy names the script and the style by their hashes and allows no request.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from unrolled.training.results import write_text

PAGE = "attention.html"


class Shown(NamedTuple):
    """A run on the page: its name, and its snapshots as `record` has them."""

    name: str
    snapshots: Sequence[dict[str, Any]]


def page(runs: Sequence[Shown]) -> str:
    """The page of one run, or of several side by side, as HTML."""
    parts = {name: (Path(__file__).parent / f"page.{name}").read_text(encoding="utf-8") for name in ("css", "js")}
    policy = "; ".join(
        [
            "default-src 'none'",
            f"style-src {_hash(parts['css'])}",
            f"script-src {_hash(parts['js'])}",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    data = json.dumps([run._asdict() for run in runs], ensure_ascii=False, separators=(",", ":"))
    # within a script element only < can end it or begin a comment; in JSON it stands in strings alone
    data = data.replace("<", "\\u003c")
    text = (Path(__file__).parent / "page.html").read_text(encoding="utf-8")
    for mark, value in {"POLICY": policy, "STYLE": parts["css"], "SCRIPT": parts["js"], "RECORDS": data}.items():
        before, after = text.split("{{" + mark + "}}")
        text = before + value + after
    return text


def write_page(path: Path, runs: Sequence[Shown]) -> None:
    """Write `page` to ``path`` so that a reader sees the old file or the new one, never half of it."""
    write_text(path, page(runs))


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
