"""Trained runs on another test text, as if data.test had named it: for compare.py, without training again.

    python benchmarks/another_test_text.py --test A.en A.es --output DIR [--search search.NAME=VALUE ...] -- RUN...

Each RUN is copied to DIR without its checkpoints. In the copy the best weights translate the text, by the search of
translate.py with the options of --search, and test BLEU and chrF are those of these translations; other test figures
are left out, as TER of long sentences takes longer than translating them. Copies that are in DIR already are kept, so a
second call continues where the first one stopped.
"""

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from paths import existing, holding

import unrolled
from unrolled.configuration.build import text_of
from unrolled.configuration.values import read_config, to_yaml
from unrolled.files import write_lines
from unrolled.metrics.translation_scores import translation_scores

OF_TRAINING_ONLY = ("checkpoints", "figures", "translations", "attention.*")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--test", nargs=2, required=True, type=existing, metavar=("SOURCE", "TARGET"))
    parser.add_argument("--output", required=True, type=Path, help="the folder of the copies")
    parser.add_argument("--search", nargs="+", default=[], metavar="OPTION", help="such as search.min_length_ratio=1")
    parser.add_argument(
        "runs",
        nargs="+",
        type=holding("config.yaml", "weights.safetensors"),
        metavar="RUN",
        help="run folders of data=parallel_text",
    )
    chosen = parser.parse_args()
    chosen.output.mkdir(parents=True, exist_ok=True)
    for run in chosen.runs:
        copy = chosen.output / run.name
        if not copy.exists():
            unfinished = chosen.output / f".{run.name}"
            shutil.rmtree(unfinished, ignore_errors=True)
            shutil.copytree(run, unfinished, ignore=shutil.ignore_patterns(*OF_TRAINING_ONLY))
            translate_test_text(unfinished, [str(path.resolve()) for path in chosen.test], chosen.search)
            unfinished.rename(copy)
        print(copy, json.loads((copy / "results.json").read_text("utf-8"))["test/bleu"], flush=True)


def translate_test_text(folder: Path, files: list[str], search: list[str]) -> None:
    """Makes the run in ``folder`` one whose test text is in ``files``, source and target, translated by ``search``."""
    config = read_config(str(folder))
    config.merge_with_dotlist(search)
    for data in (config.data, config.data.corpus, config.data.module.corpus):
        data.test = files
    (folder / "config.yaml").write_text(to_yaml(config), "utf-8")

    text, run = text_of(str(folder)), unrolled.load(folder, precision=str(config.trainer.precision))
    sources, references = text.sources("test"), text.references("test")
    translations = run.translate(sources, *search)
    scores = translation_scores(
        translations, references, tokenize=config.data.bleu_tokenize, lowercase=config.data.bleu_lowercase
    )
    write_lines(folder / "translations" / "test.txt", translations)

    results = {name: value for name, value in read(folder / "results.json").items() if not name.startswith("test/")}
    write(folder / "results.json", results | {"test/bleu": scores.bleu, "test/chrf": scores.chrf})
    provenance = read(folder / "provenance.json")
    write(folder / "provenance.json", provenance | {"sha256": provenance["sha256"] | text.fingerprint()})


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def write(path: Path, facts: Any) -> None:
    path.write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
