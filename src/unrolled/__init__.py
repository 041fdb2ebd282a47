"""unrolled: recurrent attention for translation, and recurrent language models."""

__version__ = "0.1.0"
