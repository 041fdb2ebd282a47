"""Several processes on one machine, each started from the run's resolved configuration, not from the command line.

Lightning would start a child by repeating ``sys.argv``, which under multirun is the whole sweep.

They end with the process that started them, however it ends: each reads a pipe whose other end only that process holds,
and the system closes it with the process.
"""

import logging
import os
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from unrolled.errors import POSITIVE_WHOLE, WHOLE, UserError, check
from unrolled.training.preemption import Preempted
from unrolled.training.process_memory import OUT_OF_MEMORY
from unrolled.training.threads import cores

log = logging.getLogger(__name__)

PIPE = "UNROLLED_PARENT"
"""Environment variable: the file descriptor that ends with the process that started this one."""
PATIENCE = 60.0  # seconds a process has to save and end
GLANCE = 0.1  # seconds between two looks at the processes
INTERRUPTED = 130  # the exit status of a process that a signal has ended


class Killed(SystemExit):
    """The end of a training because one of its processes was killed."""


class Devices:
    """A number of devices, all of them, or a list of GPUs."""

    def __contains__(self, value: Any) -> bool:
        if value in ("auto", -1) or value in POSITIVE_WHOLE:
            return True
        several = not isinstance(value, str | bool | float | int | dict) and value is not None
        return several and len(value) > 0 and all(number in WHOLE for number in value)

    def __str__(self) -> str:
        return "a whole number from 1, auto, or a list of GPUs: '[0,1]'"


DEVICES = Devices()
STARTING = ("spawn", "fork", "notebook")
"""Words in the names of Lightning's strategies that start processes themselves, by copying objects or this process."""


def processes(accelerator: str, devices: Any, strategy: str) -> int:
    """How many processes a run needs on this machine.

    UserError: more devices than it has, several and no strategy, a strategy that would start the processes itself.

    devices: how many, "auto" or -1 for all GPUs, or a list of their numbers.
    """
    check("trainer.devices", devices, DEVICES)
    if any(word in strategy for word in STARTING):
        raise UserError(f"trainer.strategy={strategy}: give ddp; the processes are started here, not by Lightning")
    gpus = _gpus(accelerator) if devices != 1 else 0
    if devices in ("auto", -1):
        wanted = gpus or 1
    else:
        wanted = devices if isinstance(devices, int) else len(devices)
    there, what = (gpus, "GPUs") if gpus else (os.cpu_count() or 1, "CPU cores")
    if wanted > max(there, 1 if gpus else 2):  # two processes on one core are slow, but show how several work
        raise UserError(f"trainer.devices={devices}: this machine has {there} {what}: give at most {there}")
    if strategy.startswith("ddp"):
        return wanted
    if wanted > 1:
        divided = "hardware=multi_gpu" if gpus else "hardware=ddp_cpu"
        raise UserError(f"trainer.devices={devices}: add {divided}, which divides batches among the processes")
    return 1


def _gpus(accelerator: str) -> int:
    if accelerator == "cpu":
        return 0
    import torch

    return torch.cuda.device_count()


def run_ranks(module: str, environment: dict[str, str], processes: int) -> None:
    """Run ``module`` once per rank with ``environment`` added. Ctrl-C, SIGTERM and SIGHUP end all: KeyboardInterrupt.

    SIGUSR2, where it has a handler, ends them as SIGTERM does: Preempted. If one rank fails, the others are stopped:
    SystemExit with its status, MemoryError if that is OUT_OF_MEMORY; Killed if it was killed.
    """
    ours, theirs = os.pipe()  # what they read, and what keeps them reading
    threads = os.environ.get("OMP_NUM_THREADS") or str(max(1, cores() // processes))
    package = str(Path(__file__).resolve().parents[2])  # a script's folder is on its own path, not on its children's
    added = "" if package in sysconfig.get_paths().values() else package  # they find an installed one themselves
    shared = {
        "PYTHONPATH": os.pathsep.join(filter(None, [added, os.environ.get("PYTHONPATH")])),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(_free_port()),
        "WORLD_SIZE": str(processes),
        "NODE_RANK": "0",
        "OMP_NUM_THREADS": threads,
        PIPE: str(ours),
    }
    children: list[subprocess.Popen[bytes]] = []
    with _signals_noted() as received:
        try:
            for rank in range(processes):
                variables = os.environ | environment | shared | {"LOCAL_RANK": str(rank), "RANK": str(rank)}
                children.append(subprocess.Popen([sys.executable, "-m", module], env=variables, pass_fds=[ours]))
            _wait(children, received)
        finally:
            _stop(children, received)
            os.close(ours)
            os.close(theirs)


def _wait(children: list[subprocess.Popen[bytes]], received: list[signal.Signals]) -> None:
    while True:
        if received:
            raise Preempted(128 + signal.SIGUSR2) if signal.SIGUSR2 in received else KeyboardInterrupt
        states = [child.poll() for child in children]
        bad = [state for state in states if state]
        if OUT_OF_MEMORY in bad:
            raise MemoryError("in one of several processes")
        for rank, state in enumerate(states):
            if state is not None and state < 0:
                log.error(
                    "process %d of %d was killed by %s, as the system does when it runs out of memory; "
                    "the others end too; resume=RUN continues from the last checkpoint",
                    *(rank + 1, len(children), signal.Signals(-state).name),
                )
                raise Killed(1)
        if INTERRUPTED in bad:  # by a signal to it alone: it has told the others, which save and end too
            _let_end(children, received)
            raise KeyboardInterrupt
        if bad:
            sys.exit(bad[0])
        if all(state == 0 for state in states):
            return
        time.sleep(GLANCE)


def _let_end(children: list[subprocess.Popen[bytes]], received: list[signal.Signals]) -> None:
    """Wait until all have ended, but not for ever, nor after another signal."""
    at_the_latest = time.monotonic() + PATIENCE
    while not received and time.monotonic() < at_the_latest and any(child.poll() is None for child in children):
        time.sleep(GLANCE)


@contextmanager
def _signals_noted() -> Iterator[list[signal.Signals]]:
    """Only note Ctrl-C, SIGTERM and SIGHUP, and SIGUSR2 if it has a handler, in the list that this gives.

    An exception raised by a handler could leave the lock of a Popen held, and whoever waits for its process then waits
    in vain.
    """
    received: list[signal.Signals] = []
    if threading.current_thread() is not threading.main_thread():  # only it can handle signals
        yield received
        return
    unheard: dict[signal.Signals, Any] = {signal.SIGINT: signal.SIG_IGN, signal.SIGHUP: signal.SIG_IGN}
    unheard |= {signal.SIGTERM: None, signal.SIGUSR2: signal.SIG_DFL}
    heard = [sign for sign, handler in unheard.items() if signal.getsignal(sign) != handler]
    before = {sign: signal.signal(sign, lambda number, _: received.append(signal.Signals(number))) for sign in heard}
    try:
        yield received
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)


def end_with_parent() -> None:
    """Make this process, if `run_ranks` started it, end with its parent: by SIGTERM, at the latest by SIGKILL."""
    pipe = os.environ.pop(PIPE, None)
    if pipe is not None:
        threading.Thread(target=_end_after, args=(int(pipe),), daemon=True).start()


def _end_after(pipe: int) -> None:
    os.read(pipe, 1)  # nobody writes: it returns when the other end is closed
    _end()


@cache
def end_with(parent: int) -> None:
    """The same for a process that joblib started, whose ``parent`` holds no pipe for it."""
    threading.Thread(target=_end_without, args=(parent,), daemon=True).start()


def _end_without(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    _end()


def _end() -> None:
    log.warning("the process that started this one has ended, so this one ends too")
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE)
    os.kill(os.getpid(), signal.SIGKILL)


def _stop(children: list[subprocess.Popen[bytes]], received: list[signal.Signals]) -> None:
    """End those that run, with the signals received, also those to come; with SIGTERM if there were none."""
    at_the_latest = time.monotonic() + PATIENCE
    sent = 0
    while alive := [child for child in children if child.poll() is None]:
        if time.monotonic() > at_the_latest:
            for child in alive:
                child.kill()
                child.wait()
            return
        signs = received or [signal.SIGTERM]
        for sign in signs[sent:]:
            for child in alive:
                child.send_signal(signal.SIGINT if sign == signal.SIGINT else signal.SIGTERM)
        sent = len(signs)
        time.sleep(GLANCE)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
