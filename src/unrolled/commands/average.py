"""The mean of a run's weights at several validations, as a new run.

python src/average.py run=RUN [which=best|last] [number=5]    then: python src/translate.py run=RUN/average-best-5
"""

import json
import shutil
import sys
from pathlib import Path

from omegaconf import DictConfig

from unrolled.configuration.command import command
from unrolled.configuration.values import read_config
from unrolled.errors import check_choice
from unrolled.files import write_text
from unrolled.runs.weights import average, choose, save_average, weights_of


@command("average")
def main(config: DictConfig) -> None:
    check_choice("which", config.which, ("best", "last"))
    read_config(config.run)
    run = Path(config.run)
    kept = run / "checkpoints" / "kept"
    steps = choose(kept, config.which, config.number)
    folder = run / f"average-{config.which}-{config.number}"
    shutil.copytree(run / "tokenizer", folder / "tokenizer", dirs_exist_ok=True)
    save_average(average([weights_of(kept, step) for step in steps]), folder / "weights.safetensors")
    write_text(folder / "average.json", json.dumps({"which": config.which, "steps": steps}, indent=2) + "\n")
    write_text(folder / "config.yaml", (run / "config.yaml").read_text(encoding="utf-8"))
    sys.stdout.write(f"{folder}\n")
