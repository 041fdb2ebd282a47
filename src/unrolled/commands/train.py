"""Train, validate and test a model: python src/train.py model=cgru attention=gru_att

Groups and options stand in conf/; resume=RUN goes on with a run. Figures go to stdout, all else to the run folder.
"""

import sys
from pathlib import Path
from typing import Any

import lightning
from omegaconf import DictConfig

from unrolled.configuration.build import build_data, build_module, build_trainer
from unrolled.configuration.checks import check_training
from unrolled.configuration.command import command
from unrolled.configuration.jobs import (
    halved_if_out_of_memory,
    in_sweep,
    interrupted,
    is_child,
    rank_environment,
    this_job,
    value,
)
from unrolled.configuration.ranges import check_options
from unrolled.configuration.values import to_yaml
from unrolled.runs.provenance import write_provenance
from unrolled.runs.reproduction import compared
from unrolled.runs.results import read_results, show_results
from unrolled.runs.resume import begin
from unrolled.training.ranks import is_first, processes, run_ranks, started_from_outside
from unrolled.training.run import run


@command("train")
def main(config: DictConfig) -> float | None:
    config, resume, results, original = this_job(config)
    check_options(config, "train")  # of the run that is resumed or reproduced
    folder = Path(config.run_folder)
    if results is not None:
        show_results(results)
        return value(config, results)
    results = halved_if_out_of_memory(train, config, folder, resume=resume)
    if results["status"] == "interrupted":
        interrupted(config)
    if original is not None:
        show_results(compared(original, folder))
    if results["status"] != "completed" and not in_sweep():
        sys.exit(1)
    return value(config, results)


def train(config: DictConfig, folder: Path, *, resume: bool) -> dict[str, Any]:
    if not is_child():
        if is_first():
            begin(folder, to_yaml(config), resume=resume)
        ranks = processes(**{name: config.trainer.get(name, "auto") for name in ("accelerator", "devices", "strategy")})
        check_training(config, ranks)
        if ranks > 1 and not started_from_outside():
            run_ranks("unrolled.commands.train", rank_environment(folder, resume=resume), ranks)
            return read_results(folder)
    lightning.seed_everything(config.seed, verbose=False)  # before anything random; 0 is a seed like any other
    data = build_data(config)
    data.prepare_data()
    data.setup()
    module = build_module(config, data)
    trainer = build_trainer(config, resume=resume)
    if trainer.is_global_zero:
        data.save_tokenizers(folder / "tokenizer")
        write_provenance(folder, fingerprint=data.fingerprint(), resume=resume)
    facts = {**config.choices, "seed": config.seed, "run": str(folder)}
    results = run(module=module, data=data, trainer=trainer, folder=folder, facts=facts, resume=resume)
    if trainer.is_global_zero:
        show_results(results)
    return results


if __name__ == "__main__":
    main()
