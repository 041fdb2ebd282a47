"""A command is a function of its configuration, decorated with ``@command("name")``, which composes conf/name.yaml."""

import functools
import io
import json
import logging
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, ListConfig, OmegaConf, open_dict

from unrolled.configuration import failures
from unrolled.configuration.checks import check_choices
from unrolled.configuration.conf import CONF, import_from_here
from unrolled.configuration.hints import check_words
from unrolled.configuration.mistakes import full_disk, users_mistake
from unrolled.configuration.mode import mode_seen_in_words
from unrolled.configuration.process import CALLED, RESOLVED, TRUSTED, begin_here, is_child, launched_elsewhere
from unrolled.configuration.ranges import check_options
from unrolled.configuration.slots import trust
from unrolled.configuration.sweep import Sweep
from unrolled.configuration.trial import this_trial
from unrolled.errors import UserError, printable, was_interrupted
from unrolled.files import remove_if_empty
from unrolled.training.cluster import is_first
from unrolled.training.preemption import Preempted
from unrolled.training.process_memory import keep_freed_memory
from unrolled.training.ranks import end_with, end_with_parent

HELP = {"--help", "-h", "--version"}

# Seconds in which the first of several processes reports a mistake that all make, and has the others ended
SAID = 30.0

# Loggers of libraries, of which only warnings are shown
CHATTERS = ("lightning.pytorch", "lightning.fabric", "fontTools", "sacrebleu")
# Warnings of libraries that no user of the scripts can act on
LIBRARY_NOTICES = (
    ".*exists and is not empty.*",  # the run folder, which holds config.yaml already
    ".*isinstance\\(treespec, LeafSpec\\).*",
    ".*is smaller than the logging interval.*",
    ".*could not find the monitored key in the returned metrics.*",  # before the first validation
    ".*ReduceLROnPlateau conditioned on metric.*not available.*",  # the same
    ".*GPU available but not used.*",  # by hardware=cpu, or on a Mac
    ".*`srun` command is available on your system but is not used.*",  # several processes are started here
)

log = logging.getLogger(__name__)


def command(name: str) -> Callable[[Callable[[DictConfig], Any]], Callable[[], None]]:
    """Turn a function of the configuration into a script's ``main``.

    A user's mistake ends with one line on stderr and exit status 2; an interruption with 130; results go to stdout, the
    log to stderr. Any other error is a mistake of the program and keeps its traceback.
    """

    def decorate(task: Callable[[DictConfig], Any]) -> Callable[[], None]:
        def carry_out(config: DictConfig) -> Any:
            try:
                check_choices(config)
                check_options(config, name)
                return task(_trusting(config))
            except (Exception, SystemExit) as problem:  # the latter where one of several processes has said the mistake
                if isinstance(problem, SystemExit) or users_mistake(problem) is not None:
                    remove_if_empty(Path(HydraConfig.get().runtime.output_dir))  # which Hydra has made for it
                raise

        @functools.wraps(task)
        def job(config: DictConfig) -> Any:
            if not launched_elsewhere():
                if this_trial() is not None:
                    return failures.of_a_job(lambda: carry_out(config))  # the study decides whether a mistake ends it
                with status():
                    return failures.current[-1].value_of(lambda: carry_out(config))
            _prepare_process(f"[{HydraConfig.get().job.num}] ")
            if HydraConfig.get().runtime.choices["hydra/launcher"] == "joblib":  # a cluster's jobs outlive the command
                end_with(os.getppid())
            try:
                return failures.of_a_job(lambda: carry_out(config))  # who launched this process reports a mistake
            except Preempted:
                os.kill(os.getpid(), signal.SIGUSR2)  # now for submitit, which requeues the job
                raise
            except failures.Reported:
                raise
            except Exception as problem:
                if users_mistake(problem) is None and full_disk(problem) is None:
                    log.exception("this job failed")  # its traceback does not leave this process
                raise

        def main() -> None:
            with status():
                begin_here()
                failures.current[:] = [failures.Jobs()]
                _prepare_process()
                doc = sys.modules[task.__module__].__doc__ or ""
                if HELP & {*sys.argv[1:]}:
                    from unrolled.configuration.help import answered  # which nothing else needs

                    answered(name, doc)
                    return
                if is_child():  # one of several processes of a run that is already configured
                    end_with_parent()
                    sys.argv = json.loads(os.environ.get(CALLED, "null")) or sys.argv
                    trust(os.environ[TRUSTED].split() if TRUSTED in os.environ else None)
                    task(DictConfig(OmegaConf.load(os.environ[RESOLVED])))  # which its parent has checked and written
                else:
                    check_words(name, "< " in doc, sys.argv[1:])
                    import_from_here()
                    try:
                        with mode_seen_in_words():
                            hydra.main(version_base="1.3", config_path=str(CONF), config_name=name)(job)()
                    except KeyboardInterrupt:
                        Sweep.say_how_to_continue()
                        raise
                    failures.current[-1].conclude()

        return main

    return decorate


def _open_streams() -> None:
    """Results are UTF-8 in every locale, as all text that is read; closed streams, Python's None, become empty ones."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors=sys.stdout.errors)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115


def _check_output() -> None:
    """UserError where results have nowhere to go."""
    if sys.stdout is None:
        raise UserError("standard output is closed, and results go there: send them to a file, or to /dev/null")


def _trusting(config: DictConfig) -> DictConfig:
    """``config`` without ``trust``: an option of this command alone, which no run folder's configuration has."""
    if "trust" in config:
        with open_dict(config):
            named = config.pop("trust")
        trust(list(named) if isinstance(named, ListConfig) else named)
    return config


def _prepare_process(job: str = "") -> None:
    """Log to stderr, with lines marked by the ``job`` if several run at once; freed memory stays for the next batch."""
    keep_freed_memory()
    form = f"%(asctime)s {job}%(message)s"
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format=form, datefmt="%H:%M:%S", force=bool(job))
    for chatter in CHATTERS:
        logging.getLogger(chatter).setLevel(logging.WARNING)
    for notice in LIBRARY_NOTICES:
        warnings.filterwarnings("ignore", notice)


@contextmanager
def status() -> Iterator[None]:
    """A user's mistake: one line on stderr and 2; a full disk: 1; an interruption: 130; a closed pipe: 141."""
    _open_streams()
    os.environ["HYDRA_FULL_ERROR"] = "1"  # let exceptions through to here
    try:
        _check_output()
        yield
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output, such as head, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except failures.Reported as problem:
        sys.exit(problem.status)
    except Exception as problem:
        if (full := full_disk(problem)) is None and was_interrupted(problem):
            sys.exit(130)
        line = users_mistake(problem)
        if line is None and full is None:
            raise
        if line is not None and not is_first():
            time.sleep(SAID)
        print(f"{Path(sys.argv[0]).name}: {printable(line or str(full))}", file=sys.stderr)
        sys.exit(2 if line else 1)
