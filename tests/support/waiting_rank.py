"""A process as `run_ranks` starts it, which waits: ``python -m support.waiting_rank``; FOLDER gets its fate."""

import os
import signal
import sys
import time
from pathlib import Path

from unrolled.training.ranks import end_with_parent


def main() -> None:
    folder, rank = Path(os.environ["FOLDER"]), os.environ["RANK"]

    def saved(*_):
        (folder / f"saved-{rank}").touch()
        sys.exit(130)

    signal.signal(signal.SIGTERM, saved)
    end_with_parent()
    (folder / f"process-{rank}.part").write_text(str(os.getpid()))
    (folder / f"process-{rank}.part").rename(folder / f"process-{rank}")
    for _ in range(1200):
        if any(folder.glob("saved-*")):  # as the processes of a training tell each other
            time.sleep(1)
            (folder / f"told-{rank}").touch()
            sys.exit(130)
        time.sleep(0.1)


if __name__ == "__main__":
    main()
