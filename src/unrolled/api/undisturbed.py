"""Training inside somebody else's process, a notebook or a program, which finds everything as it was."""

import logging
import os
import random
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from unrolled.api.torch_settings import usual_settings
from unrolled.configuration.command import CHATTERS, LIBRARY_NOTICES

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR2)
OF_LIGHTNING = ("PL_GLOBAL_SEED", "PL_SEED_WORKERS", "CUBLAS_WORKSPACE_CONFIG", "PYTORCH_NVML_BASED_CUDA_CHECK")
"""Environment variables that Lightning sets."""


@contextmanager
def undisturbed(progress: bool = False) -> Iterator[None]:
    """Whatever training does in the block, afterwards the process has what it had before.

    That is: signal handlers, random states, the current folder, warning filters, levels of loggers, PyTorch's switches
    for deterministic algorithms, and the environment variables that Lightning sets. In the block PyTorch has its
    `usual_settings`. progress: lines of the log on standard error during the block, unless the program has set up
    logging itself.
    """
    import torch

    signals = _handlers()
    numbers, drawn = random.getstate(), np.random.get_state()  # noqa: NPY002
    environment = {name: os.environ.get(name) for name in OF_LIGHTNING}
    folder = os.getcwd()
    deterministic = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    cudnn: Any = torch.backends.cudnn
    switches = cudnn.benchmark, cudnn.deterministic
    try:
        states = torch.random.fork_rng(range(torch.cuda.device_count()))
        with states, usual_settings(), warnings.catch_warnings(), _log(progress):
            for notice in LIBRARY_NOTICES:
                warnings.filterwarnings("ignore", notice)
            yield
    finally:
        for sign, handler in signals.items():
            signal.signal(sign, handler)
        random.setstate(numbers)
        np.random.set_state(drawn)  # noqa: NPY002
        for name, value in environment.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        os.chdir(folder)
        torch.use_deterministic_algorithms(deterministic[0], warn_only=deterministic[1])
        cudnn.benchmark, cudnn.deterministic = switches


def _handlers() -> dict[signal.Signals, Any]:
    """The handlers of the signals that training listens to; only the main thread has any."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    return {sign: handler for sign in SIGNALS if (handler := signal.getsignal(sign)) is not None}


@contextmanager
def _log(progress: bool) -> Iterator[None]:
    """Lines of this package on standard error, as train.py writes them, unless somebody else handles them."""
    import lightning  # noqa: F401  # which sets the level of its loggers when it is imported

    ours = logging.getLogger("unrolled")
    levels = {logger: logger.level for logger in (ours, *map(logging.getLogger, CHATTERS))}
    handler: logging.Handler | None = None
    if not ours.hasHandlers():  # without any, Python writes warnings to standard error
        handler = logging.StreamHandler(sys.stderr) if progress else logging.NullHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
        ours.addHandler(handler)
        if progress:
            ours.setLevel(logging.INFO)
    for name in CHATTERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        yield
    finally:
        if handler is not None:
            ours.removeHandler(handler)
        for logger, level in levels.items():
            logger.setLevel(level)
