"""A run is tried without its memory: on text with blank lines, and by the names of all memories."""

import math
import re

import pytest

from unrolled.api.memory_ablations import memories_of, shown
from unrolled.models.ablation import ABLATIONS

SIZES = {"model.embedding_size": 8, "model.encoder_size": 6, "model.decoder_size": 12, "trainer.max_steps": 1}
OPTIONS = ["attention=gru_att", "tokenizer=word", "logger=csv", "~callbacks.pictures", "~callbacks.attention_record"]


@pytest.fixture
def blank_lines(train_here, tmp_path):
    """A run with known links whose test text has a group of blank lines."""
    given = {}
    for split, blank in (("train", 0), ("val", 0), ("test", 12)):
        for side, line in (("source", "a b c"), ("target", "C B A"), ("alignment", "0-2 1-1 2-0")):
            (tmp_path / f"{split}.{side}").write_text(f"{line}\n" * 24 + "\n" * blank)
        given[f"data.{split}"] = [str(tmp_path / f"{split}.{side}") for side in ("source", "target")]
        given[f"data.{split}_alignment"] = str(tmp_path / f"{split}.alignment")
    return train_here("data=parallel_text", *OPTIONS, **given, **SIZES)


def test_a_group_of_lengths_without_links_has_no_aer(blank_lines):
    rows = blank_lines.ablate("zero", "test", "search=greedy")
    rate = {row["source_words"]: row["aer"] for row in rows if row["memory"] == "zero"}
    assert list(rate) == ["all", "0 to 2", "3 or more"]
    assert math.isnan(rate["0 to 2"])
    assert rate["all"] == rate["3 or more"]
    assert (blank_lines.folder / "memory-test.csv").is_file()
    assert re.search(r"^0 to 2 +12 +– +–$", shown(rows).partition("AER\n")[2], re.M)


def test_all_memories_may_be_named_in_a_list(train_translator):
    assert memories_of(["all"]) == memories_of("all") == list(ABLATIONS)
    run = train_translator("location_extrapolating", **{"trainer.max_steps": 2})
    rows = run.ablate(["all"], "test", "search=greedy")
    assert list(dict.fromkeys(row["memory"] for row in rows)) == ["intact", "zero", "freeze", "lag"]
