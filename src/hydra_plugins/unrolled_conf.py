"""Where Hydra looks for configurations: also in the conf/ of installed packages and of the user, after ours."""

import sys

from hydra.core.config_search_path import ConfigSearchPath
from hydra.plugins.search_path_plugin import SearchPathPlugin


class FurtherConf(SearchPathPlugin):
    """Adds `unrolled.configuration.conf.further`, for our commands only: Hydra asks this of every program."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """After the command's own."""
        conf = sys.modules.get("unrolled.configuration.conf")
        if conf is not None and any(each.path == str(conf.CONF) for each in search_path.get_path()):
            for provider, folder in conf.further():
                search_path.append(provider, f"file://{folder}")
