"""Out of memory: once more, with half the token budget."""

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from unrolled.configuration.reading import resolved
from unrolled.training.memory import OUT_OF_MEMORY, is_out_of_memory
from unrolled.training.ranks import started_from_outside

log = logging.getLogger(__name__)


def halved(config: DictConfig) -> DictConfig:
    """With half the token budget, and twice the batches an update."""
    less = DictConfig(resolved(config))
    if "max_tokens" in config.data:
        for path in ("data.max_tokens", "data.module.max_tokens"):
            OmegaConf.update(less, path, config.data.max_tokens // 2)
    less.trainer.accumulate_grad_batches = 2 * config.trainer.accumulate_grad_batches
    return less


def halved_if_out_of_memory(
    train: Callable[..., dict[str, Any]], config: DictConfig, folder: Path, *, resume: bool
) -> dict[str, Any]:
    """What ``train`` returns; if there is no memory left, once more with half the token budget, from the beginning.

    Then twice as many batches make an update, so that updates are of as many words. One of several processes leaves it
    to the one that started it.
    """
    try:
        return train(config, folder, resume=resume)
    except Exception as problem:
        if not is_out_of_memory(problem) or config.data.get("max_tokens", 1) < 2:
            raise
        if started_from_outside():
            sys.exit(OUT_OF_MEMORY)
    less = halved(config)
    log.warning("out of memory: once more from the beginning, with data.max_tokens=%d", less.data.max_tokens)
    return train(less, folder, resume=False)
