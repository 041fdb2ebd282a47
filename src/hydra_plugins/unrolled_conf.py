"""Where Hydra looks for what changes its search path: the conf/ of installed packages come after ours."""

from hydra.core.config_search_path import ConfigSearchPath
from hydra.plugins.search_path_plugin import SearchPathPlugin


class ConfOfPackages(SearchPathPlugin):
    """Adds `unrolled.configuration.conf.of_packages`."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """After the command's own."""
        from unrolled.configuration.conf import of_packages

        for folder in of_packages():
            search_path.append("unrolled.conf", f"file://{folder}")
