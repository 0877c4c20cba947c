"""The HTTP client that the settings ask for."""

from collections.abc import Mapping
from urllib.parse import urlsplit

import httpx2

from hermes.config.settings import Settings
from hermes.lib.http import new_client
from hermes.models.catalogue import address, known_providers
from hermes.types.error import ConfigError


def client_for(settings: Settings, environ: Mapping[str, str]) -> httpx2.AsyncClient:
    """A client with the proxies of `environ`, `network.ca_cert`, and the certificates of single providers; ConfigError when one is none."""
    named = [(one, one.ca_cert) for one in known_providers(settings).values() if one.ca_cert] if _any_named(settings) else []
    hosts = {urlsplit(address(one, environ)).netloc: file for one, file in named}
    try:
        return new_client(environ, ca_cert=settings.network.ca_cert, hosts=hosts)
    except ValueError as error:
        raise ConfigError(str(error), key="network.ca_cert") from error


def _any_named(settings: Settings) -> bool:
    """Whether the table of providers has to be read at all."""
    return any(one.ca_cert for one in (*settings.providers.values(), *settings.custom_providers))
