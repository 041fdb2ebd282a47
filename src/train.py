"""Train, validate and test a model: python src/train.py model=cgru attention=gru_att

Groups and options stand in conf/; resume=RUN goes on with a run. Figures go to stdout, all else to the run folder.
"""

import sys
from pathlib import Path
from typing import Any

import lightning
from omegaconf import DictConfig

from unrolled.configuration import (
    build_data,
    build_module,
    build_trainer,
    check_numbers,
    check_training,
    command,
    in_sweep,
    rank_environment,
    resumed,
    same_training,
    to_yaml,
)
from unrolled.training.ranks import processes, run_ranks, started_from_outside
from unrolled.training.results import read_results, show_results, write_provenance, write_text
from unrolled.training.resume import check_resumable, forget, status
from unrolled.training.run import run


@command("train")
def main(config: DictConfig) -> float | None:
    earlier = resumed(config)
    config = config if earlier is None else earlier
    check_numbers(config)
    folder = Path(config.run_folder)
    if not started_from_outside():
        if earlier is None:
            forget(folder)
            if in_sweep() and config.logger and config.logger.group is None:
                config.logger.group = Path(config.sweep.dir).name
        else:
            check_resumable(folder)
            if status(folder) == "completed" and same_training(config, folder):
                show_results(read_results(folder))
                return read_results(folder).get(config.objective.monitor)
        write_text(folder / "config.yaml", to_yaml(config))
        ranks = processes(**{name: config.trainer.get(name, "auto") for name in ("accelerator", "devices", "strategy")})
        check_training(config, ranks)
        if ranks > 1:
            failed = run_ranks(Path(__file__), rank_environment(folder, resume=earlier is not None), ranks)
            if failed:
                sys.exit(failed)
            return read_results(folder).get(config.objective.monitor)
    results = fit(config, folder, resume=earlier is not None)
    if results["status"] == "interrupted":
        raise KeyboardInterrupt
    if results["status"] != "completed" and not in_sweep():
        sys.exit(1)
    return results.get(config.objective.monitor, float("nan"))


def fit(config: DictConfig, folder: Path, *, resume: bool) -> dict[str, Any]:
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
