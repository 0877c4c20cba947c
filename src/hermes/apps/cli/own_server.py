"""The server of one's own, which no catalogue knows, and what it tells of its models."""

from collections.abc import Mapping
from typing import Final

from hermes.config.home import Home
from hermes.config.sections import Settings
from hermes.models.catalog.catalogue import Provider
from hermes.models.catalog.context_limits import ContextLimits
from hermes.models.catalog.endpoint import resolve
from hermes.models.client import client_for
from hermes.models.settings import ModelSettings
from hermes.types.error import ConfigError
from hermes.types.request import CUSTOM

NO_ADDRESS: Final = (
    "{0}/{1} is a model of your own server, whose address is not known here: hermes --base-url URL models"
    " info {0}/{1} asks it, and model.base_url keeps the address."
)


def own_server(model: str, base_url: str, settings: Settings) -> Provider:
    """The server that --base-url or model.base_url names; ConfigError where neither does."""
    place = base_url or settings[ModelSettings].base_url
    if not place:
        raise ConfigError(NO_ADDRESS.format(CUSTOM, model))
    return Provider(name=CUSTOM, title="your own server", base_url=place, keyless=True, own=True)


async def listed_window(
    home: Home, settings: Settings, environ: Mapping[str, str], server: Provider, model: str
) -> int:
    """The window in tokens that the server tells, or told before; 0 where it does not."""
    endpoint = resolve(settings, environ, model=model, base_url=server.base_url)
    async with client_for(settings, environ) as http:
        limits = ContextLimits(home.windows_file, http)
        return limits.of(endpoint) or await limits.ask(endpoint)
