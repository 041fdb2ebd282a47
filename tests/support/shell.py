"""A shell in which ``python SCRIPT ...``, ``python -m unrolled ...`` and ``unrolled ...`` are copies of this process.

What takes seconds to import is there already. Only the libraries: the copy forgets this project's modules, and imports
those next to the script, or in a folder that the caller names, such as that of an installed wheel. It draws nothing, as
`without_drawings` has it.
"""

import json
import os
import runpy
import select
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import hydra  # noqa: F401 - for the copies
import lightning  # noqa: F401 - for the copies
from hydra.core.plugins import Plugins
from hydra.core.singleton import Singleton

from support.forked import Process, as_fresh, connect
from support.scripts import ROOT, TESTS, without_drawings

SHIM = f"""#!{sys.executable} -ISE
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.connect(os.path.join(os.path.dirname(__file__), "socket"))
request = json.dumps([os.getcwd(), sys.argv, dict(os.environ)])
socket.send_fds(server, [request.encode()], [0, 1, 2])
os._exit(int(server.recv(8) or 70))
"""
"""Called ``python`` or ``unrolled``: lends its three streams to a copy, and ends with the status of that."""


class Done(NamedTuple):
    """How a command line ended, and what it wrote."""

    status: int
    stdout: str
    stderr: str


def run_in_shell(
    line: str,
    *,
    cwd: Path,
    environment: Mapping[str, str],
    folder: Path,
    installed: Path | None = None,
    python: Path | None = None,
) -> Done:
    """Run a command line by bash, with ``pipefail``; ``folder`` is for what that needs.

    installed: where ``unrolled`` and ``python -m unrolled`` find the package, this repository's src/ if None; an
    environment's site-packages. python: by which the copies start others, that environment's own if None.
    """
    _import_libraries()
    folder.mkdir(exist_ok=True)
    for program in ("python", "unrolled"):
        (folder / program).write_text(SHIM, encoding="utf-8")
        (folder / program).chmod(0o755)
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
                copies.append(Process(lambda connection=connection: _serve(connection, installed, python)))
                connection.close()
        for copy in copies:
            copy.wait()
    return Done(bash.returncode, *((folder / name).read_text(encoding="utf-8") for name in ("out", "err")))


def _import_libraries() -> None:
    """What trainings import while they run, half of a small one's time: matplotlib, sacrebleu."""
    import unrolled.figures.heat_map
    import unrolled.metrics.translation_scores  # noqa: F401


def _serve(connection: socket.socket, installed: Path | None, python: Path | None) -> int:
    """Be the ``python`` or ``unrolled`` that was asked for."""
    request, streams, _, _ = socket.recv_fds(connection, 1 << 17, 3)
    cwd, (program, *argv), environment = json.loads(request)
    os.chdir(cwd)
    connect(*streams)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("unrolled", "support", "hydra_plugins")]:
        del sys.modules[name]
    Singleton._instances.pop(Plugins, None)  # which remembers those of this project
    as_module = Path(program).name == "unrolled" or argv[:2] == ["-m", "unrolled"]
    script = "unrolled" if as_module else str(Path(argv[0]).resolve())
    own = str(installed or ROOT / "src") if as_module else str(Path(script).parent)
    ours = {str(ROOT / "src"), str(TESTS), own}
    asked = [str(Path(place).resolve()) for place in environment.get("PYTHONPATH", "").split(os.pathsep) if place]
    sys.path[:] = [*asked, own, *(place for place in sys.path if place not in ours)]
    if installed is not None:
        sys.executable = str(python or installed.parents[2] / "bin" / "python")
    if Path(program).name == "unrolled":
        argv = [program, *argv]
    elif as_module:
        argv = [f"{own}/unrolled/__main__.py", *argv[2:]]
    with without_drawings() if (Path(own) / "unrolled").is_dir() else nullcontext():
        status = as_fresh(environment, argv, runpy.run_module if as_module else runpy.run_path, script)
    connection.send(str(status).encode())
    return status
