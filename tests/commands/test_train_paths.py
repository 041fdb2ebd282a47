"""Names with spaces, quotes and signs that shells, Hydra and glob know, of folders and of files."""

import pytest
from support.scripts import TINY_MODEL, call_script, results, write_pair

SOURCE, TARGET = ["a b c", "b a", "c c a", "a"] * 9, ["A B C", "B A", "C C A", "A"] * 9
NAME = "ä ' ~ = [1] {x} $y"


def quoted(value):
    """For Hydra's grammar."""
    return f'"{value}"'


@pytest.mark.slow
def test_odd_names_of_folders_and_files_work(tmp_path):
    odd = tmp_path / NAME
    pairs = {}
    for split in ("train", "val", "test"):
        write_pair(odd, f"{split} ~=ä'", SOURCE, TARGET)
        pairs[split] = ",".join(quoted(odd / f"{split} ~=ä'.{side}") for side in ("source", "target"))
    data = ["data=parallel_text", "tokenizer=word", *(f"data.{split}=[{pair}]" for split, pair in pairs.items())]
    run = odd / "run of ä"
    short = ["trainer.max_steps=3", "logger=csv", f"hydra.run.dir={quoted(run)}", f"cache={quoted(odd / 'cache ~')}"]
    done = call_script("train.py", *data, *TINY_MODEL, "callbacks.pictures.sentences=1", *short, cwd=tmp_path)
    assert done.status == 0, done.stderr
    assert results(run)["status"] == "completed"
    evaluated = call_script("evaluate.py", f"run={quoted(run)}", "pictures=1", cwd=tmp_path)
    assert (evaluated.status, (run / "figures" / "test-1.png").is_file()) == (0, True)
    translated = call_script("translate.py", f"run={quoted(run)}", cwd=tmp_path, text="".join(f"{a}\n" for a in SOURCE))
    assert translated.stdout == (run / "translations" / "test.txt").read_text(encoding="utf-8")
    resumed = call_script("train.py", f"resume={quoted(run)}", "trainer.max_steps=4", cwd=tmp_path)
    assert (resumed.status, results(run)["steps"]) == (0, 4)
