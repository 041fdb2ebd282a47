"""List every option of a command, as chosen, with its default and meaning.

Usage:
    python src/options.py [COMMAND] [group=choice ...] [PART ...]

Examples:
    python src/options.py model=cgru attention=gru_att
    python src/options.py model=rnn_lm dropout size
    python src/options.py translate search=greedy

COMMAND is train where none is named. PART is part of an option's name: only such options are listed.
"""

import sys

from unrolled.configuration.command import status
from unrolled.configuration.help import answered, chosen, every_option, has_options


def main() -> None:
    assert __doc__ is not None
    with status():
        if answered("options", __doc__):
            return
        words = chosen(sys.argv[1:])
        command = words.pop(0) if words and has_options(words[0]) else "train"
        parts = [word for word in words if "=" not in word and not word.startswith("~")]
        sys.stdout.write(every_option(command, [word for word in words if word not in parts], parts))
