"""Text to token ids and back: lines, pipes, special tokens, tokenizers. Knows errors and files."""
