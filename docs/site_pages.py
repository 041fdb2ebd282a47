"""Pages of the site that are written when it is built: commands and options from conf/, Python from docstrings.

mkdocs calls the functions below; mkdocs.yml names this file.
"""

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

RESULTS = (  # what the functions of `import unrolled` return
    "unrolled.api.translator_run.TranslatorRun",
    "unrolled.api.language_model_run.LanguageModelRun",
    "unrolled.api.judged_sentences.TranslatedSentence",
    "unrolled.api.judged_sentences.ScoredSentence",
    "unrolled.api.pair_attention.PairAttention",
    "unrolled.api.compared_runs.ComparedRuns",
    "unrolled.api.rescored_lists.RescoredLists",
    "unrolled.api.interpolated_models.InterpolatedModels",
    "unrolled.api.checked_part.TriedPromises",
)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages."""
    pages = {
        "reference/commands.md": commands(),
        "reference/options.md": options(),
        "reference/python.md": python(),
        "contributing.md": of_the_root("CONTRIBUTING.md"),
        "changelog.md": of_the_root("CHANGELOG.md"),
        "readme.md": of_the_root("README.md"),
    }
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Let links to files outside docs/ lead to their pages here, and name those that have none."""
    markdown = re.sub(
        r"\]\(\.\./(CONTRIBUTING|CHANGELOG|README)\.md", lambda found: f"]({found[1].lower()}.md", markdown
    )
    return re.sub(r"\[([^\]]*)\]\(\.\./[^)]*\)", r"\1", markdown)


def of_the_root(name: str) -> str:
    """A page of the repository's root, with its links as seen from docs/."""
    text = (ROOT / name).read_text(encoding="utf-8")
    text = re.sub(r"\]\(docs/", "](", text)
    return re.sub(r"\]\((CONTRIBUTING|CHANGELOG|README)\.md", lambda found: f"]({found[1].lower()}.md", text)


def commands() -> str:
    """The help of every command."""
    from unrolled.__main__ import commands, description
    from unrolled.configuration.help import screen

    sections = (f"## {name}\n\n```\n{screen(name, description(name)).strip()}\n```" for name in commands())
    return "# Commands\n\nThe same from an installed package: `unrolled COMMAND`.\n\n" + "\n\n".join(sections)


def options() -> str:
    """Every option of train.py with the default model, and where those of others are."""
    from unrolled.configuration.help import every_option

    return (
        "# Options\n\nOf `train.py` with the default choices. With others: `python src/options.py model=rnn_lm`; of"
        f" another command: `python src/options.py translate`.\n\n```\n{every_option('train', []).strip()}\n```\n"
    )


def python() -> str:
    """What `import unrolled` offers, and what that returns."""
    from unrolled import OFFERED

    names = (*(f"{module}.{name}" for name, module in OFFERED.items()), *RESULTS)
    return "# Python\n\n" + "\n\n".join(f"::: {name}" for name in names) + "\n"
