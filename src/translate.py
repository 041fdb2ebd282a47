"""Translate standard input, line by line: python src/translate.py run=RUN < in > out"""

import sys
from itertools import islice

from omegaconf import DictConfig

from unrolled.configuration import command, load_translator
from unrolled.data.text import decode_lines


@command("translate")
def main(config: DictConfig) -> None:
    translator = load_translator(config)
    lines = decode_lines(sys.stdin.buffer, "standard input")
    while chunk := list(islice(lines, config.lines)):
        sys.stdout.buffer.writelines(f"{line}\n".encode() for line in translator.translate(chunk))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
