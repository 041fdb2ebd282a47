"""The transcripts of docs/install.md and own-parts.md: what is typed there prints what is printed there.

Figures may differ, and trainings are smaller. That a wheel is built and installed is in tests/test_wheel.py.
"""

import re

import pytest
from support.installed import install
from support.scripts import ROOT, SHORT, TINY, TINY_MODEL
from support.transcripts import commands, replay

pytestmark = pytest.mark.slow

SMALL = " ".join([*TINY, *SHORT, *TINY_MODEL, "~callbacks.pictures", "~callbacks.attention_record", "logger=csv"])


@pytest.fixture
def here(tmp_path):
    """An empty folder, and one for what the shell needs."""
    (tmp_path / "here").mkdir()
    return tmp_path / "here", tmp_path / "shell"


def write_files(page, folder):
    """The files that a page shows: code blocks whose first line names one."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for name, content in re.findall(r"^```\w+\n# (\S+\.(?:py|yaml))\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")


def test_the_installed_command(here):
    """All of docs/install.md but the building of the wheel."""
    transcript = [pair for pair in commands("install.md") if " pip " not in pair[0]]
    # a translation after five batches means nothing: anything will do
    transcript = [(typed, "...\n" if printed in ("uh uh iz\n", "iz\n") else printed) for typed, printed in transcript]
    listing = next(place for place, (typed, _) in enumerate(transcript) if typed == "ls")
    assert replay(transcript[: listing + 1], *here, {"debug=quick": f"debug=quick {SMALL}"}) == 4
    write_files("install.md", here[0])
    (here[0] / "in.txt").write_text("uh iz na\n", encoding="utf-8")
    assert replay(transcript[listing + 1 :], *here, {"debug=quick": f"debug=quick {SMALL}"}) > 10


def test_the_example_package(here):
    """The console of docs/own-parts.md; pip's part is done before."""
    pytest.importorskip("tensorboard")
    install(ROOT / "examples" / "own_attention", here[0] / "site")
    transcript = commands("own-parts.md")
    pip = [typed for typed, _ in transcript if typed.startswith("pip ")]
    smaller = {
        **dict.fromkeys(pip, "true"),
        "data.grammar.pairs=2000 model.embedding_size=32 model.encoder_size=32 model.decoder_size=64": " ".join(
            [*TINY, *TINY_MODEL, "~callbacks.pictures", "~callbacks.attention_record"]
        ),
        "compare runs=runs": "compare runs=runs bootstrap=2 randomization=2",
        "check attention=accumulating": f"check attention=accumulating {' '.join(TINY_MODEL)}",
    }
    replay(transcript, *here, smaller)
    assert list((here[0] / "runs").glob("*/tensorboard/events*"))


def test_pip_gets_the_folder_of_the_example_and_not_a_name():
    """Without a slash pip looks for a package of that name in its index, even if there is such a folder."""
    (typed,) = [typed for typed, _ in commands("own-parts.md") if typed.startswith("pip ")]
    assert typed.endswith(" ../unrolled/examples/own_attention")
    assert (ROOT / "examples" / "own_attention" / "pyproject.toml").is_file()
