"""One training, from a resolved configuration to results.json; in each of its processes, if there are several."""

from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from unrolled.configuration.build import build_data, build_module, build_trainer, check_model, check_monitors
from unrolled.configuration.values import to_yaml


def train_in(config: DictConfig, folder: Path, *, resume: bool, progress: bool = True) -> dict[str, Any]:
    """The training of ``config`` in the run ``folder``; returns what results.json then holds.

    progress: lines or a bar, if ``config`` has them.
    """
    import unrolled.training.lean_lightning  # noqa: F401, I001  # before all that imports Lightning
    import lightning

    from unrolled.runs.provenance import check_unchanged, write_provenance
    from unrolled.runs.resume import begin
    from unrolled.training.collector import overlook_imports
    from unrolled.training.run import run

    overlook_imports()
    lightning.seed_everything(config.seed, verbose=False)  # before anything random; 0 is a seed like any other
    data = build_data(config)
    if resume:
        check_unchanged(folder, data.text.text_files(), data.text.fingerprint())
    if not data.is_prepared:  # preparing may take long: mistakes first
        check_model(config, parallel=data.is_parallel)
    data.prepare_data()
    data.setup()
    if resume:
        check_unchanged(folder, {}, data.fingerprint())
    module = build_module(config, data)
    check_monitors(config, module)
    trainer = build_trainer(config, resume=resume, progress=progress)

    def begin_run() -> None:
        begin(folder, to_yaml(config), resume=resume)
        data.save_tokenizers(folder / "tokenizer")
        write_provenance(folder, fingerprint=data.fingerprint(), resume=resume)

    facts = {**config.choices, "seed": config.seed, "run": str(folder)}
    return run(
        module=module,
        data=data,
        trainer=trainer,
        folder=folder,
        begin=begin_run,
        facts=facts,
        name=f"{config.name}-seed{config.seed}",
        resume=resume,
    )
