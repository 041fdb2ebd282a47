"""From the command line and run folders to objects. The only room that knows Hydra and OmegaConf.

Functions of commands/ and api/ take configurations, OmegaConf's DictConfig.
"""

from unrolled.configuration import quick_omegaconf
from unrolled.configuration.values import register_resolvers

quick_omegaconf.install()
register_resolvers()
