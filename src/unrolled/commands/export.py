"""Write a trained model as ONNX, for programs without PyTorch.

Usage:
    python src/export.py run=RUN output=DIR

Examples:
    python src/export.py run=RUN output=onnx
    python src/export.py run=LM output=lm_onnx
    python src/export.py run=RUN trust=my_package output=onnx

docs/export.md says what the files hold; examples/translate_onnx.py translates with them.
"""

import sys

from omegaconf import DictConfig

from unrolled.api.exported_run import exported
from unrolled.configuration.command import command
from unrolled.errors import UserError


@command("export")
def main(config: DictConfig) -> None:
    if config.output is None:
        raise UserError("output=DIR is missing: name the folder to write the ONNX files to")
    sys.stdout.write(f"{exported(config.run, config.output)}\n")
