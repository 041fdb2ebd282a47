"""A shell in which ``python SCRIPT ...`` is a copy of this process: what takes seconds to import is there already.

Only the libraries: the copy forgets this project's modules, and imports those next to the script.
"""

import json
import os
import runpy
import select
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import hydra  # noqa: F401 - for the copies
import lightning  # noqa: F401 - for the copies

from support.forked import Process, as_fresh, connect
from support.scripts import ROOT, TESTS

SHIM = f"""#!{sys.executable} -ISE
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.connect(os.path.join(os.path.dirname(__file__), "socket"))
request = json.dumps([os.getcwd(), sys.argv[1:], dict(os.environ)])
socket.send_fds(server, [request.encode()], [0, 1, 2])
os._exit(int(server.recv(8) or 70))
"""
"""Called ``python``: lends its standard input, output and error to a copy, and ends with the copy's status."""


class Done(NamedTuple):
    """How a command line ended, and what it wrote."""

    status: int
    stdout: str
    stderr: str


def run_in_shell(line: str, *, cwd: Path, environment: Mapping[str, str], folder: Path) -> Done:
    """Run a command line by bash, with ``pipefail``; ``folder`` is for what that needs."""
    folder.mkdir(exist_ok=True)
    shim = folder / "python"
    shim.write_text(SHIM, encoding="utf-8")
    shim.chmod(0o755)
    (folder / "socket").unlink(missing_ok=True)
    path = os.pathsep.join([str(folder), environment["PATH"]])
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server,
        (folder / "out").open("wb") as out,
        (folder / "err").open("wb") as err,
    ):
        server.bind(str(folder / "socket"))
        server.listen()
        bash = subprocess.Popen(
            ["bash", "-o", "pipefail", "-c", line],
            cwd=cwd, env={**environment, "PATH": path}, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
        )  # fmt: skip
        copies = []
        while bash.poll() is None:
            if select.select([server], [], [], 0.02)[0]:
                connection, _ = server.accept()
                copies.append(Process(lambda connection=connection: _serve(connection)))
                connection.close()
        for copy in copies:
            copy.wait()
    return Done(bash.returncode, *((folder / name).read_text(encoding="utf-8") for name in ("out", "err")))


def _serve(connection: socket.socket) -> int:
    """Be the ``python`` that was asked for."""
    request, streams, _, _ = socket.recv_fds(connection, 1 << 17, 3)
    cwd, argv, environment = json.loads(request)
    os.chdir(cwd)
    connect(*streams)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("unrolled", "support")]:
        del sys.modules[name]
    script = Path(argv[0]).resolve()
    ours = {str(ROOT / "src"), str(TESTS)}
    sys.path[:] = [str(script.parent), *(place for place in sys.path if place not in ours)]
    status = as_fresh(environment, argv, runpy.run_path, str(script))
    connection.send(str(status).encode())
    return status
