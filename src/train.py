"""Train, validate and test a model: python src/train.py model=cgru attention=gru_att

Groups and options stand in conf/. Figures go to stdout, everything else to the run folder and stderr.
"""

import sys
from pathlib import Path

import lightning
from omegaconf import DictConfig

from unrolled.configuration import (
    RESOLVED,
    build_data,
    build_module,
    build_trainer,
    check_numbers,
    check_training,
    command,
    in_sweep,
    to_yaml,
)
from unrolled.training.ranks import processes, run_ranks, started_from_outside
from unrolled.training.results import read_results, show_results, write_provenance, write_text
from unrolled.training.run import run


@command("train")
def main(config: DictConfig) -> float | None:
    check_numbers(config)
    folder = Path(config.run_folder)
    if not started_from_outside():
        if in_sweep() and config.logger and config.logger.group is None:
            config.logger.group = Path(config.sweep.dir).name
        write_text(folder / "config.yaml", to_yaml(config))
        trainer = config.trainer
        ranks = processes(trainer.accelerator, trainer.devices, trainer.get("strategy", "auto"))
        check_training(config, ranks)
        if ranks > 1:
            failed = run_ranks(Path(__file__), {RESOLVED: str(folder / "config.yaml")}, ranks)
            if failed:
                sys.exit(failed)
            return read_results(folder).get(config.objective.monitor)

    lightning.seed_everything(config.seed, verbose=False)  # before anything random; 0 is a seed like any other
    data = build_data(config)
    data.prepare_data()
    data.setup()
    module = build_module(config, data)
    trainer = build_trainer(config)
    if trainer.is_global_zero:
        data.save_tokenizers(folder / "tokenizer")
        write_provenance(folder, fingerprint=data.fingerprint())
    facts = {**config.choices, "seed": config.seed, "run": str(folder)}
    results = run(module=module, data=data, trainer=trainer, folder=folder, facts=facts)
    if trainer.is_global_zero:
        show_results(results)
    if results["status"] == "interrupted":
        raise KeyboardInterrupt
    if results["status"] != "completed" and not in_sweep():
        sys.exit(1)
    return results.get(config.objective.monitor, float("nan"))


if __name__ == "__main__":
    main()
