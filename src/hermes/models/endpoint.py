"""From what the user chose to an Endpoint."""

from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from hermes.config.settings import ModelSettings
from hermes.models.catalogue import Provider, provider
from hermes.models.profiles import profile_of, window_of
from hermes.types.error import ConfigError
from hermes.types.request import Endpoint

LOCAL = "local"


def resolve(settings: ModelSettings, environ: Mapping[str, str], *, model: str = "", base_url: str = "") -> Endpoint:
    """The endpoint in force; ConfigError with one sentence when what was asked for cannot be had.

    `model` and `base_url` are flags and win over settings. With nothing chosen it is the built-in local model; its
    endpoint has no address until the model is running.
    """
    chosen, address = model or settings.default, base_url or ("" if model and "/" in model else settings.base_url)
    if address:
        return _limits(_own_server(chosen, address, settings, environ), settings)
    if not chosen or chosen == LOCAL:
        return _limits(local(""), settings)
    name, _, rest = chosen.partition("/")
    if name == LOCAL or chosen.endswith(".gguf"):
        return _limits(local(rest if name == LOCAL else chosen), settings)
    if not rest:
        raise ConfigError(f"Model {chosen!r} names no provider; write provider/name, such as openrouter/{chosen}, or give --base-url.")
    return _limits(_hosted(provider(name), rest, environ), settings)


def local(model: str) -> Endpoint:
    """The endpoint of a model that runs in this process; `model` is an alias, a path, or empty for the default."""
    return Endpoint(provider=LOCAL, base_url="", model=model, local=True, calls="constrained")


def _hosted(found: Provider, model: str, environ: Mapping[str, str]) -> Endpoint:
    key = next((environ[name] for name in found.keys if environ.get(name)), "")
    if not key and not found.keyless:
        raise ConfigError(
            f"No key for {found.name}: set {found.keys[0]} in the environment or in .env (hermes config set {found.keys[0]} KEY)."
        )
    return Endpoint(
        provider=found.name,
        base_url=found.base_url,
        model=model,
        credential=key,
        profile=profile_of(model, found.name),
        context_window=window_of(model),
    )


def _own_server(model: str, address: str, settings: ModelSettings, environ: Mapping[str, str]) -> Endpoint:
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise ConfigError(f"{address!r} is not an address; write it like http://127.0.0.1:8080/v1.")
    key = environ.get(settings.api_key_env or "OPENAI_API_KEY", "") if settings.api_key_env or _is_known_host(parts.netloc) else ""
    name = model.removeprefix("custom/") or "default"
    return Endpoint(
        provider="custom", base_url=address, model=name, credential=key, profile=profile_of(name), context_window=window_of(name)
    )


def _is_known_host(netloc: str) -> bool:
    """A key meant for one company is not sent to whatever address was typed."""
    return netloc.endswith("api.openai.com")


def _limits(endpoint: Endpoint, settings: ModelSettings) -> Endpoint:
    return replace(
        endpoint,
        context_window=settings.context_window or endpoint.context_window,
        max_output=settings.max_output or endpoint.max_output,
    )
