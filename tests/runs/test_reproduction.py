"""Whether two run folders are the same: figures and weights."""

from unrolled.runs.reproduction import compared
from unrolled.runs.results import write_results


def folder(path, weights=b"weights", **figures):
    path.mkdir()
    if weights is not None:
        (path / "weights.safetensors").write_bytes(weights)
    write_results(path, {"run": path.name, "test/bleu": 20.0} | figures)
    return path


def test_the_same_figures_and_weights_are_identical(tmp_path):
    one, other = folder(tmp_path / "one", peak_memory_mib=3), folder(tmp_path / "other", peak_memory_mib=4)
    assert list(compared(one, other)) == ["reproduction"]
    assert compared(one, other)["reproduction"].startswith("identical")


def test_what_differs_is_said(tmp_path):
    one = folder(tmp_path / "one")
    weights = compared(one, folder(tmp_path / "weights", b"others"))
    assert weights["reproduction"] == "not identical: figures the same, weights different"
    figures = compared(one, folder(tmp_path / "figures", **{"test/bleu": 20.5}))
    assert figures["reproduction"] == "not identical: figures 1 differ, weights the same"
    assert "20.5 now" in figures["test/bleu"]
    assert compared(one, folder(tmp_path / "none", None))["reproduction"].endswith("weights different")
