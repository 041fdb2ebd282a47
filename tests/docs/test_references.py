"""What README, CONTRIBUTING and docs/ refer to exists: linked pages and their headings, files of the repository."""

import re

import pytest
from support.scripts import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
ROOMS = "|".join(sorted(path.name for path in (ROOT / "src" / "unrolled").iterdir() if path.is_dir()))
CODE = re.compile(r"```.*?```", re.DOTALL)


def anchor(heading: str) -> str:
    """As GitHub makes it: lower case, punctuation gone, spaces as hyphens."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


SITE_PAGES = (ROOT / "docs" / "site_pages.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\((?!https?:)([^)]+)\)", text):
        path, _, heading = link.partition("#")
        if path and f'"{path}"' in SITE_PAGES:  # written when the site is built, which checks it
            continue
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{page.name}: there is no {link}"
        if heading:
            headings = re.findall(r"^#+ (.*)$", CODE.sub("", linked.read_text(encoding="utf-8")), flags=re.MULTILINE)
            assert heading in map(anchor, headings), f"{page.name}: {path or page.name} has no heading #{heading}"


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=lambda page: page.name)
def test_files_that_are_named_exist(page):
    """``src/...``, ``conf/...`` and files of a room, such as ``models/attention.py``, in running text."""
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    for name in re.findall(rf"`((?:src|conf|benchmarks|docs|tests|{ROOMS})/[\w/.-]+\.(?:py|yaml|md|html))`", text):
        room = ROOT / "src" / "unrolled" / name
        if name.endswith("/X.py"):
            continue  # any file
        assert (ROOT / name).exists() or room.exists(), f"{page.name}: there is no {name}"


@pytest.mark.parametrize("folder", ["src", "conf", "benchmarks", "examples"])
def test_pages_that_code_and_options_name_exist(folder):
    """In comments, docstrings and messages, such as ``docs/training.md``."""
    for path in sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in {".py", ".yaml", ".toml"}):
        for name in re.findall(r"\bdocs/[a-z-]+\.md\b", path.read_text(encoding="utf-8")):
            assert (ROOT / name).is_file(), f"{path.relative_to(ROOT)}: there is no {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_shell_reads_the_variables_of_commands(page):
    """It does not in single quotes: '[$DATA/a.en,$DATA/a.de]' is no pair of files."""
    for block in CODE.findall(page.read_text(encoding="utf-8")):
        assert not re.search(r"='[^'\n]*\$[A-Z]", block), f"{page.name}: {block}"
