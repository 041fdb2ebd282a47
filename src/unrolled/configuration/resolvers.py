"""What conf/ interpolates beside OmegaConf's own resolvers."""

import os
import secrets
import time

from omegaconf import ListConfig, OmegaConf

from unrolled.training.ranks import shared_start


def register_resolvers() -> None:
    """Make them known to OmegaConf. Those without arguments have one value a process, so that names agree."""
    OmegaConf.register_new_resolver("unique", _unique, use_cache=True, replace=True)
    OmegaConf.register_new_resolver("start", _start, use_cache=True, replace=True)
    OmegaConf.register_new_resolver("absolute", _absolute, replace=True)
    OmegaConf.register_new_resolver("run_folder", _run_folder, replace=True)


def _unique() -> str:
    """Part of the names of run and sweep folders, so that two started in one second differ."""
    return secrets.token_hex(3)


def _start() -> str:
    """The same for all processes of a run."""
    return shared_start(f"{time.strftime('%Y-%m-%d_%H-%M-%S')}-{_unique()}")


def _absolute(paths: str | ListConfig | None) -> str | ListConfig | None:
    """A path, or several, that hold in any folder: evaluate.py finds the data of a run wherever one stands."""
    if paths is None:
        return None
    return os.path.abspath(paths) if isinstance(paths, str) else ListConfig([os.path.abspath(str(p)) for p in paths])


def _run_folder(resume: str | None, new: str) -> str:
    """Where Hydra makes a folder: the one that is resumed, ``new``, or none (here) where the one named is missing."""
    if resume is None:
        return new
    return resume if os.path.isdir(resume) else "."
