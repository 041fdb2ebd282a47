"""The commands, one file and one screen each. `python src/train.py` is the door to `train`, and so on."""
