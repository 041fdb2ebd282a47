"""A ``python`` for ``sys.executable``: its processes are copies of one that has imported the libraries already.

For what starts interpreters itself, such as torchrun and submitit. As in support/shell.py the copies forget this
project's modules, and what Hydra and OmegaConf remember of it.
"""

import json
import os
import runpy
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.core.singleton import Singleton
from omegaconf import OmegaConf

from support.forked import Process, as_fresh, connect
from unrolled.training.ranks import PIPE

SHIM = f"""#!{sys.executable} -ISE
import json, os, socket, sys
if "submitit.local._local" in sys.argv:  # which is known by its process id
    os.execv({sys.executable!r}, [{sys.executable!r}, *sys.argv[1:]])
server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.connect(os.path.join(os.path.dirname(__file__), "socket"))
files = [0, 1, 2, *map(int, filter(None, [os.environ.get({PIPE!r})]))]
socket.send_fds(server, [json.dumps([os.getcwd(), sys.argv[1:], dict(os.environ)]).encode()], files)
os._exit(int(server.recv(8) or 70))
"""
"""Lends its files to a copy, and ends with the status of that."""


@contextmanager
def interpreters(folder: Path) -> Iterator[Path]:
    """The path of ``python``; ``folder`` is for what that needs."""
    python = folder / "python"
    python.write_text(SHIM, encoding="utf-8")
    python.chmod(0o755)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.bind(str(folder / "socket"))
        server.listen()
        copies = Process(lambda: _serve(server))
    try:
        yield python
    finally:
        with suppress(ProcessLookupError):
            os.killpg(copies.pid, signal.SIGKILL)
        copies.kill()


def _serve(server: socket.socket) -> int:
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    import torch._dynamo.trace_rules  # noqa: F401 - each of several processes imports it: 1.5 s

    for name in [name for name in sys.modules if name.partition(".")[0] in ("unrolled", "hydra_plugins")]:
        del sys.modules[name]
    for remembered in (GlobalHydra, HydraConfig, Plugins):
        Singleton._instances.pop(remembered, None)
    OmegaConf.clear_resolvers()
    while True:
        connection, _ = server.accept()
        Process(lambda connection=connection: _be(connection))
        connection.close()


def _be(connection: socket.socket) -> int:
    """Be the ``python`` that was asked for."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, files, _, _ = socket.recv_fds(connection, 1 << 17, 4)
    cwd, arguments, environment = json.loads(request)
    os.chdir(cwd)
    connect(*files[:3])
    if PIPE in environment:
        environment[PIPE] = str(files[3])  # by another number, as an inherited file may have that one
    sys.path[:0] = environment.get("PYTHONPATH", "").split(os.pathsep)
    arguments = [argument for argument in arguments if argument != "-u"]
    if arguments[0] == "-m":
        sys.path.insert(0, cwd)
        status = as_fresh(environment, arguments[1:], runpy.run_module, arguments[1])
    else:
        sys.path.insert(0, str(Path(arguments[0]).resolve().parent))
        status = as_fresh(environment, arguments, runpy.run_path, arguments[0])
    connection.send(str(status).encode())
    return status
