"""A package as pip would install it: its files, and the metadata that says what it offers."""

import shutil
import tomllib
from pathlib import Path


def install(project: Path, folder: Path) -> Path:
    """Copy the packages of ``project`` into ``folder``, with a .dist-info; returns ``folder``, for Python's path."""
    settings = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    about = settings["project"]
    for package in settings["tool"]["setuptools"]["packages"]:
        without = shutil.ignore_patterns("__pycache__")
        shutil.copytree(project / package, folder / package, ignore=without, dirs_exist_ok=True)
    info = folder / f"{about['name'].replace('-', '_')}-{about['version']}.dist-info"
    info.mkdir()
    named = f"Metadata-Version: 2.1\nName: {about['name']}\nVersion: {about['version']}\n"
    (info / "METADATA").write_text(named, encoding="utf-8")
    offered = "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in about["entry-points"].items()
    )
    (info / "entry_points.txt").write_text(offered, encoding="utf-8")
    return folder
