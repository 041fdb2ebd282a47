"""Files and folders that appear whole or not at all, also when two processes make the same one at once."""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unrolled.errors import UserError


@contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """A free path beside ``path`` at which the block makes a file or a folder; it then becomes ``path``.

    If the block fails, nothing remains. If another process was first with a folder, that one stays: what is cached
    under a name is the same whoever made it. UserError: the folder around it cannot be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise UserError(f"{path.parent}: cannot be made ({problem.strerror}); give another cache folder") from problem
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        yield partial
        try:
            os.replace(partial, path)
        except OSError:
            if not path.is_dir():
                raise
    finally:
        if partial.is_dir():
            shutil.rmtree(partial)
        else:
            partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 ``text`` to ``path`` so that a reader sees the old file or the new one, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_lines(path: Path, lines: list[str]) -> None:
    """One line each; a line break inside a line becomes a space."""
    write_text(path, "".join(line.replace("\r", " ").replace("\n", " ") + "\n" for line in lines))
