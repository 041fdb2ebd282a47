"""How Lightning writes checkpoints here: through `files`, within the same folder, never moved across disks."""

import io
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins.io.torch_io import TorchCheckpointIO

from unrolled.files import write_bytes


class WholeCheckpoints(TorchCheckpointIO):
    """Keeps the old checkpoint until the new one is complete and on the disk."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None) -> None:
        """Write ``checkpoint`` to the file ``path``. OSError, e.g. for a full disk: the old file is unchanged."""
        content = io.BytesIO()
        torch.save(checkpoint, content)
        write_bytes(Path(path), content.getbuffer())
