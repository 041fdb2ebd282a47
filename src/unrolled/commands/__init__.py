"""What is typed: one command a file, one screen each. `python src/train.py` is the door to `train`, and so on."""
