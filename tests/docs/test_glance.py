"""docs/glance.md says what each figure of a run means."""

import json
import re

from support.scripts import ROOT


def test_every_figure_of_a_run_is_explained(trained):
    page = (ROOT / "docs" / "glance.md").read_text(encoding="utf-8")
    table = page.partition("## Figures and their units")[2].partition("\n## ")[0]
    explained = set(re.findall(r"`([^`]+)`", "".join(line.split("|")[1] for line in re.findall(r"^\|.*", table, re.M))))
    results = json.loads((trained / "results.json").read_text(encoding="utf-8"))
    figures = {name for name, value in results.items() if isinstance(value, bool | int | float)} - {"seed"}
    curves = set((trained / "metrics.csv").read_text(encoding="utf-8").partition("\n")[0].split(","))
    names = figures | curves - {"step", "epoch"}
    assert len(names) > 20
    assert {name for name in names if not {name, name.rpartition("/")[2]} & explained} == set()
