"""Hydra and OmegaConf, and nothing else of the package knows them: from the command line to objects."""

from unrolled.configuration.building import build_data, build_detail, build_model
from unrolled.configuration.checks import check_numbers, check_training
from unrolled.configuration.child import is_child, rank_environment
from unrolled.configuration.command import CONF, command
from unrolled.configuration.jobs import Job, in_sweep, interrupted, this_job, value
from unrolled.configuration.loading import (
    build_search,
    load_language_model,
    load_language_models,
    load_ngrams,
    load_scorer,
    load_translator,
    trains_translation,
)
from unrolled.configuration.memory import halved_if_out_of_memory
from unrolled.configuration.reading import load_runs, read_config, resolved, run_folders, to_yaml
from unrolled.configuration.resolvers import register_resolvers
from unrolled.configuration.training import build_module, build_trainer

__all__ = [
    "CONF",
    "Job",
    "build_data",
    "build_detail",
    "build_model",
    "build_module",
    "build_search",
    "build_trainer",
    "check_numbers",
    "check_training",
    "command",
    "halved_if_out_of_memory",
    "in_sweep",
    "interrupted",
    "is_child",
    "load_language_model",
    "load_language_models",
    "load_ngrams",
    "load_runs",
    "load_scorer",
    "load_translator",
    "rank_environment",
    "read_config",
    "resolved",
    "run_folders",
    "this_job",
    "to_yaml",
    "trains_translation",
    "value",
]

register_resolvers()
