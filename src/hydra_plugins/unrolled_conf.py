"""Where Hydra looks for configurations: also in the conf/ of installed packages and of the user, after ours."""

import sys
from typing import Any

from hydra.core.config_search_path import ConfigSearchPath
from hydra.plugins.search_path_plugin import SearchPathPlugin


class FurtherConf(SearchPathPlugin):
    """Adds `unrolled.configuration.conf.further`, for our commands only: Hydra asks this of every program."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """After the command's own."""
        conf: Any = sys.modules.get("unrolled.configuration.conf")
        further = getattr(conf, "further", None)  # an earlier version next to this one, as in a benchmark, has none
        if further is not None and any(source.path == str(conf.CONF) for source in search_path.get_path()):
            for provider, folder in further():
                search_path.append(provider, f"file://{folder}")
