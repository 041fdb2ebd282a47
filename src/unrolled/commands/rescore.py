"""Score n-best lists with further models, and choose the best again.

Usage:
    python src/rescore.py nbest=FILE scorers='{name: RUN}' [source=FILE]
    python src/rescore.py nbest=FILE scorers='{name: RUN}' [source=FILE] reference=FILE
    python src/rescore.py nbest=FILE scorers='{name: RUN}' [source=FILE] weights='{logp: 1, name: 0.2}'

Examples:
    python src/rescore.py nbest=lists scorers='{lm: LM}' > lists.lm
    python src/rescore.py nbest=lists.lm reference=val.de
    python src/rescore.py nbest=lists.lm weights='{logp: 1, lm: 0.2}' > test.de

The first form adds a feature to the lists, the second finds weights, the third prints the best translations.
"""

import sys

from omegaconf import DictConfig

from unrolled.api.rescored_lists import OF_TUNING, read_lists
from unrolled.configuration.checks import check_unused
from unrolled.configuration.command import command
from unrolled.configuration.values import resolved
from unrolled.errors import UserError, called, check_choice, shown
from unrolled.rescoring.choose import check_name
from unrolled.text.lines import read_lines


@command("rescore")
def main(config: DictConfig) -> None:
    if config.nbest is None:
        raise UserError(f"nbest=FILE is missing: name a list that {called('translate')} nbest=10 wrote")
    check_choice("output", config.output, ("best", "nbest"))
    lists, weights = read_lists(config.nbest), resolved(config)["weights"]
    if config.source is not None:
        lists.sources = list(read_lines(config.source))
        lists.check_as_many(lists.sources, config.source)
    if not config.scorers:
        check_unused(["device", "precision", "max_tokens"], "without scorers nothing uses it")
    for name, run in (config.scorers or {}).items():
        check_name(lists.lists, name)
        if not isinstance(run, str):
            raise UserError(f"scorers.{name}={shown(run)}: give a run folder")
    for name, run in (config.scorers or {}).items():
        from unrolled.api.loading import load  # loads torch, only if there are scorers

        options = {"device": config.device, "precision": config.precision}
        lists = lists.scored(name, load(run, f"max_tokens={config.max_tokens}", **options))
    if config.reference is not None:
        check_unused(["output"], "with reference=FILE the weights are printed, and no lists")
        references = list(read_lines(config.reference))
        lists.check_as_many(references, config.reference)
        weights = lists.tune(references, weights, **{name: config[name] for name in OF_TUNING}).weights
        sys.stdout.write("{" + ", ".join(f"{name}: {weight:.6g}" for name, weight in weights.items()) + "}\n")
        return
    check_unused(["restarts", "seed"], "only with reference=FILE weights are tuned")
    if weights is not None:
        lists = lists.by(weights)
    if weights is not None and config.output == "best":
        sys.stdout.writelines(f"{text}\n" for text in lists.best())
    else:
        sys.stdout.write(str(lists))
