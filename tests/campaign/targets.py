"""What a hostile run folder may name in a ``_target_``: each would leave a file named ``ran`` if it were called.

Every one is a node of a configuration, without Hydra's ``_args_`` where it can do without.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

MARK = "ran"


def prepare(folder: Path) -> None:
    """Files that run code when they are loaded: a pickle, an array of objects, hubconf.py, a .pth, a script."""
    import pickle

    import numpy as np
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    touch = f"import pathlib; pathlib.Path({str(folder / MARK)!r}).touch()"
    (folder / "evil.pickle").write_bytes(pickle.dumps(Evil(touch)))
    torch.save(Evil(touch), folder / "evil.pt")
    np.save(folder / "evil.npy", np.array([Evil(touch)], dtype=object), allow_pickle=True)
    for name in ("hubconf.py", "evil.pth", "evil.py"):
        (folder / name).write_text(f"{touch}\ndef make(*args, **kwargs): ...\n" if name != "evil.pth" else touch)


class Evil:
    """Pickled, it runs ``code`` when it is loaded."""

    def __init__(self, code: str) -> None:
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (self.code,)


def targets(folder: Path) -> dict[str, Mapping[str, Any]]:
    """Nodes by a name of each, all of which would write ``folder``/ran."""
    mark, code = str(folder / MARK), f"import pathlib; pathlib.Path({str(folder / MARK)!r}).touch()"
    path = {"_target_": "pathlib.Path", "_args_": [mark]}
    nodes: dict[str, Any] = {
        "setuptools._distutils.spawn.spawn": {"cmd": ["touch", mark]},
        "subprocess.run": {"args": ["touch", mark]},
        "subprocess.call": {"args": ["touch", mark]},
        "subprocess.check_output": {"args": ["touch", mark]},
        "subprocess.Popen": {"args": ["touch", mark]},
        "os.system": {"command": f"touch {mark}"},
        "os.popen": {"cmd": f"touch {mark}"},
        "os.mkdir": {"path": mark},
        "os.makedirs": {"name": mark},
        "os.mkfifo": {"path": mark},
        "os.rename": {"src": str(folder / "evil.py"), "dst": mark},
        "os.symlink": {"src": "/etc/hostname", "dst": mark},
        "posix.system": {"command": f"touch {mark}"},
        "shutil.copy": {"src": str(folder / "evil.py"), "dst": mark},
        "shutil.move": {"src": str(folder / "evil.py"), "dst": mark},
        "builtins.open": {"file": mark, "mode": "w"},
        "builtins.exec": {"_args_": [code]},
        "builtins.eval": {"_args_": [f"open({mark!r}, 'w')"]},
        "io.open": {"file": mark, "mode": "w"},
        "codecs.open": {"filename": mark, "mode": "w"},
        "pathlib.Path.touch": {"self": path},
        "pathlib.Path.write_text": {"self": path, "data": "x"},
        "pathlib.Path.mkdir": {"self": path},
        "pathlib.Path.unlink": {"self": path},
        "runpy.run_path": {"path_name": str(folder / "evil.py")},
        "site.addsitedir": {"sitedir": str(folder)},
        "timeit.timeit": {"stmt": code, "number": 1},
        "cProfile.run": {"statement": code},
        "pdb.run": {"statement": code},
        "code.InteractiveConsole.runcode": {"self": None, "code": code},
        "pickle.loads": {"_args_": [code]},
        "torch.load": {"f": str(folder / "evil.pt"), "weights_only": False},
        "torch.serialization.load": {"f": str(folder / "evil.pt"), "weights_only": False},
        "torch.save": {"obj": 1, "f": mark},
        "torch.hub.load": {"repo_or_dir": str(folder), "model": "make", "source": "local"},
        "torch.jit.load": {"f": str(folder / "evil.pt")},
        "torch.utils.cpp_extension.load": {"name": "evil", "sources": [str(folder / "evil.py")]},
        "joblib.load": {"filename": str(folder / "evil.pickle")},
        "joblib.dump": {"value": 1, "filename": mark},
        "numpy.load": {"file": str(folder / "evil.npy"), "allow_pickle": True},
        "numpy.savetxt": {"fname": mark, "X": [1]},
        "logging.FileHandler": {"filename": mark},
        "sqlite3.connect": {"database": mark},
        "zipfile.ZipFile": {"file": mark, "mode": "w"},
        "tempfile.mkdtemp": {"dir": str(folder)},
        "functools.partial": {"_args_": [{"_target_": "os.mkdir", "_partial_": True}, mark]},
        "hydra.utils.call": {"config": {"_target_": "os.mkdir", "path": mark}},
        "hydra.utils.instantiate": {"config": {"_target_": "os.mkdir", "path": mark}},
        "hydra.utils.get_method": {"path": "os.system"},
        "importlib.import_module": {"name": "this"},
        "lightning.pytorch.loggers.CSVLogger": {"save_dir": mark},
        "lightning.pytorch.callbacks.LambdaCallback": {},
        "unrolled.files.write_text": {"path": path, "text": "x"},
        "unrolled.files.write_lines": {"path": path, "lines": ["x"]},
        "unrolled.runs.results.write_results": {"folder": path, "results": {}},
        "unrolled.training.ranks.run_ranks": {"module": "this", "environment": {}, "ranks": 1},
        "unrolled.commands.train.main": {},
        "unrolled.models.attention.attend": {},
        "unrolled.models.attention.Attention": {},
        "unrolled.models.attention.torch.load": {"f": str(folder / "evil.pt"), "weights_only": False},
        "unrolled.models.attention.nn.Module": {},
        "unrolled.models.cells.BahdanauAttention": {},
        "unrolled.data.modules.DataModule.load_from_checkpoint": {"checkpoint_path": str(folder / "evil.pt")},
        "unrolled.data.module.DataModule.load_from_checkpoint": {"checkpoint_path": str(folder / "evil.pt")},
        "unrolled.training.supervision.Supervision.__init__": {},
        "unrolled": {},
        "": {},
        " torch.optim.Adam": {},
        "torch.optim.adam.Adam ": {},
        "torch.optim.Adam.__init__.__globals__": {},
    }
    return {name: {"_target_": name, **options} for name, options in nodes.items()}
