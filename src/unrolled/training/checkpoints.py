"""How Lightning writes checkpoints here: through `files`, beside their place, where it would move them across disks."""

import io
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins.io.torch_io import TorchCheckpointIO

from unrolled.files import write_bytes


class WholeCheckpoints(TorchCheckpointIO):
    """The checkpoint that was there stays until the new one is whole and on the disk."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None) -> None:
        """Write ``checkpoint`` to the file ``path``. OSError, as of a full disk: nothing has changed."""
        content = io.BytesIO()
        torch.save(checkpoint, content)
        write_bytes(Path(path), content.getbuffer())
