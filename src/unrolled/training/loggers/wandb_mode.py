"""Whether a run goes to the server of Weights & Biases, or stays in its folder."""

import logging
import netrc
import os
import socket
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import getproxies

from unrolled.errors import UserError, nearest

log = logging.getLogger(__name__)

MODES = {mode: mode for mode in ("online", "offline", "disabled", "shared")} | {"run": "online", "dryrun": "offline"}
"""Values of WANDB_MODE, the last two by their old names."""
TIMEOUT = 10.0  # seconds to wait for the server; W&B itself waits for a minute and a half, and then gives up


def chosen_mode(mode: str) -> str:
    """W&B's own word for ``mode``, or if it is auto, for what the environment's WANDB_MODE says.

    Without WANDB_MODE, auto is online if an API key is configured (WANDB_API_KEY or netrc) and the server can be
    reached, as it cannot from many clusters' machines, otherwise offline. UserError: WANDB_MODE is something else.
    """
    if mode != "auto":
        return mode
    given = os.environ.get("WANDB_MODE")
    if not given:
        return "online" if has_wandb_key() and _is_reachable() else "offline"
    if given not in MODES:
        raise UserError(f"WANDB_MODE={given} in the environment is unknown{nearest(given, MODES, 'give one of')}")
    return MODES[given]


def _server() -> tuple[str, int]:
    url = urlparse(os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai"))
    return url.hostname or "", url.port or (80 if url.scheme == "http" else 443)


def _is_reachable() -> bool:
    """Whether W&B's server answers; a warning if it does not."""
    if {"http", "https", "all"} & getproxies().keys():  # it may be reached through one of these
        return True
    try:
        socket.create_connection(_server(), timeout=TIMEOUT).close()
        return True
    except OSError as problem:
        log.warning("%s cannot be reached (%s): Weights & Biases works offline", _server()[0], problem)
        return False


def has_wandb_key() -> bool:
    """Whether W&B would find an API key without asking for one."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    path = Path(os.environ.get("NETRC", "~/.netrc")).expanduser()
    try:
        return path.is_file() and netrc.netrc(path).authenticators(_server()[0]) is not None
    except (OSError, netrc.NetrcParseError):
        return False
