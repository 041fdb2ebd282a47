"""unrolled: recurrent attention for translation, and recurrent language models."""
