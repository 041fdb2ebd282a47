"""Train, validate and test a model.

Usage:
    python src/train.py [group=choice ...] [name=value ...]
    python src/train.py -m [group=choice,choice ...] [name=value,value ...]
    python src/train.py resume=RUN

Examples:
    python src/train.py model=cgru attention=gru_att
    python src/train.py data=parallel_text data.train='[a.en,a.de]' data.val='[b.en,b.de]' data.test='[c.en,c.de]'
    python src/train.py -m model=bahdanau,cgru attention=bahdanau,gru_att seed=1,2,3

Figures go to standard output, everything else to the run folder. -m trains all combinations, one after the other.
"""

from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from unrolled.configuration.build import build_data, build_module, build_trainer
from unrolled.configuration.command import command
from unrolled.configuration.launch import launch


@command("train")
def main(config: DictConfig) -> float | None:
    return launch(train, config)


def train(config: DictConfig, folder: Path, *, resume: bool) -> dict[str, Any]:
    import unrolled.training.lean_lightning  # noqa: F401, I001  # before all that imports Lightning
    import lightning

    from unrolled.runs.provenance import check_unchanged, write_provenance
    from unrolled.runs.results import show_results
    from unrolled.training.run import run

    lightning.seed_everything(config.seed, verbose=False)  # before anything random; 0 is a seed like any other
    data = build_data(config)
    if resume:
        check_unchanged(folder, data.text.text_files(), data.text.fingerprint())
    data.prepare_data()
    data.setup()
    if resume:
        check_unchanged(folder, {}, data.fingerprint())
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
