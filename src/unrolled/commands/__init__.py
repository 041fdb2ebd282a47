"""The commands, one file and one screen each; `python src/train.py` is the door to `train`. Knows every room."""

import os
import sys

try:
    os.getcwd()
except FileNotFoundError:  # now: PyTorch's libraries, which every command loads, would end the process with other words
    sys.stderr.write(f"{sys.argv[0]}: the current folder has been deleted: change to another one (cd)\n")
    sys.exit(2)
