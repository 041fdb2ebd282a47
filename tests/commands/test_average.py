"""average.py as a user runs it."""

import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file
from support.run_contents import corpus
from support.scripts import call_script


def test_the_average_of_several_validations_is_a_run(moved, trained):
    folder, elsewhere = moved
    source = corpus(trained.parent, "test", "source").read_text(encoding="utf-8")
    one = call_script("average.py", f"run={folder}", "number=1", cwd=elsewhere)
    assert one.stdout == f"{folder}/average-best-1\n"
    translated = call_script("translate.py", f"run={one.stdout.strip()}", cwd=elsewhere, text=source).stdout
    assert translated == (folder / "translations" / "test.txt").read_text(encoding="utf-8")
    several = call_script("average.py", f"run={folder}", "which=last", "number=3", cwd=elsewhere).stdout.strip()
    weights = [load_file(path) for path in (folder / "checkpoints" / "kept").glob("*.safetensors")]
    mean = load_file(Path(several) / "weights.safetensors")
    assert len(weights) == 3
    for name, weight in mean.items():
        torch.testing.assert_close(weight, torch.stack([each[name] for each in weights]).mean(dim=0))
    assert call_script("evaluate.py", f"run={several}", cwd=elsewhere).status == 0
    resumed = call_script("train.py", f"resume={several}", cwd=elsewhere)
    assert (resumed.status, "there is no checkpoints/last.ckpt" in resumed.stderr) == (2, True)
    torch.testing.assert_close(load_file(Path(several) / "weights.safetensors"), mean, rtol=0, atol=0)
    again = call_script("average.py", f"run={several}", cwd=elsewhere)
    assert (again.status, "this is an average already" in again.stderr) == (2, True)
    refused = call_script("average.py", f"run={folder}", "number=4", cwd=elsewhere)
    assert (refused.status, "give number=3" in refused.stderr) == (2, True)


def test_neither_averages_nor_pictures_are_written_through_links(moved):
    folder, elsewhere = moved
    (elsewhere / "precious").mkdir()
    (elsewhere / "precious" / "weights.safetensors").write_text("precious")
    shutil.rmtree(folder / "figures", ignore_errors=True)
    for link in ("average-best-2", "figures"):
        (folder / link).symlink_to(elsewhere / "precious")
    for script, option in {"average.py": "number=2", "evaluate.py": "pictures=1"}.items():
        done = call_script(script, f"run={folder}", option, cwd=elsewhere, drawings=True)
        assert (done.status, "is a link that points outside the run folder" in done.stderr) == (2, True)
    assert [path.name for path in (elsewhere / "precious").iterdir()] == ["weights.safetensors"]
    assert (elsewhere / "precious" / "weights.safetensors").read_text() == "precious"


def test_a_model_of_counts_has_no_weights(counted, tmp_path):
    refused = call_script("average.py", f"run={counted}", cwd=tmp_path)
    assert (refused.status, "a model of counts has no weights to average" in refused.stderr) == (2, True)
