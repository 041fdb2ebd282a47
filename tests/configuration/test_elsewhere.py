"""Options of a choice that was not made."""

import pytest

from unrolled.configuration.elsewhere import choices_with


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("attention.filters", ["attention=location"]),
        ("schedule.patience", ["schedule=halve_on_plateau"]),
        ("search.shortlist.frequent", ["search/shortlist=lexical"]),
        ("hydra.launcher.partition", ["hydra/launcher=slurm"]),
        ("data.language", ["data=g2p"]),
        # those of g2p, multi30k and wikitext2 are made from data.root
        ("data.train", ["data=hf", "data=monolingual_text", "data=parallel_text", "data=tsv"]),
        ("trainer.precision", []),  # hardware=... has it, and every training
        ("attention.no_such", []),
        ("seed", []),
    ],
)
def test_the_choices_that_have_an_option_are_named(name, choices):
    assert choices_with(name, {"attention", "schedule", "search", "hydra", "data", "trainer"}) == choices


def test_groups_of_other_commands_are_not_looked_at():
    assert choices_with("attention.filters", {"search"}) == []


def test_options_of_a_users_own_choices_are_known_too(tmp_path, monkeypatch):
    (tmp_path / "conf" / "attention").mkdir(parents=True)
    (tmp_path / "conf" / "attention" / "mine.yaml").write_text(
        "defaults: [location]\nfilters: ${attention.size}\nown: 3\n"
    )
    monkeypatch.chdir(tmp_path)
    assert choices_with("attention.own", {"attention"}) == ["attention=mine"]
    assert choices_with("attention.kernel_size", {"attention"}) == ["attention=location", "attention=mine"]
    assert choices_with("attention.filters", {"attention"}) == ["attention=location"]


def test_files_of_the_user_that_cannot_be_read_have_no_options(tmp_path, monkeypatch):
    (tmp_path / "conf" / "attention").mkdir(parents=True)
    files = {
        "broken": b"a: [",
        "latin": b"a: \xe9\nown: 1\n",
        "self": b"defaults: [other]\n",
        "other": b"defaults: [self]\n",
    }
    for name, content in files.items():
        (tmp_path / "conf" / "attention" / f"{name}.yaml").write_bytes(content)
    monkeypatch.chdir(tmp_path)
    assert choices_with("attention.own", {"attention"}) == ["attention=latin"]
