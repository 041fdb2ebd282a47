"""Try what every attention, decoder and model promises on one of them, such as your own.

Usage:
    python src/check.py attention=NAME [model=NAME]

Examples:
    python src/check.py attention=gru_att
    python src/check.py --config-dir my_package/conf attention=mine attention.size=32
    python src/check.py model=rnn_lm model.cell=gru

One line a promise: kept, BROKEN with the smallest case that shows it, or - where there is nothing to try. The exit
status is 1 if a promise is broken. docs/check.md says what each of them means.
"""

import sys

from omegaconf import DictConfig

from unrolled.configuration.build import build_subject
from unrolled.configuration.command import command


@command("check")
def main(config: DictConfig) -> None:
    import torch

    from unrolled.conformance.cost import baseline, costs
    from unrolled.conformance.promises import outcomes
    from unrolled.conformance.subject import NothingToTry

    torch.set_num_threads(1)  # tiny tensors are quickest so
    subject, broken = build_subject(config), 0
    for outcome in outcomes(subject):
        broken += outcome.kept is False
        write(outcome.name, {True: "kept", False: "BROKEN", None: "-"}[outcome.kept], outcome.why)
    try:
        if config.cost:
            own, other = costs(subject, baseline(subject))
            write("time of a training step", f"{own.seconds / other.seconds:.2f} x", "that of cgru with bahdanau")
            write("memory kept for its gradients", f"{own.mebibytes / other.mebibytes:.2f} x", "the same")
    except NothingToTry:
        pass  # a language model has nothing to be compared with
    if broken:
        sys.exit(1)


def write(name: str, what: str, why: str) -> None:
    sys.stdout.write(f"{name:<40} {what:<6} {why}".rstrip() + "\n")
    sys.stdout.flush()
