"""Providers of models that plugins register: what one says of itself, and what its methods have to say.

A profile stays where its plugin runs, which may be another process; `fields_of` and `answer` are called there
and give plain data.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, get_args
from urllib.parse import urlsplit

import anyio
import msgspec
from msgspec import Struct, field

from hermes.lib.aio import in_tool_thread, is_cancellation
from hermes.lib.error_words import error_words
from hermes.lib.visible import visible
from hermes.models.catalog.catalogue import Provider
from hermes.models.transports.base import UnshapedError
from hermes.models.transports.common.encoding import merged
from hermes.plugins.manifest import is_name
from hermes.types.ctrl_c import is_ctrl_c
from hermes.types.error import PluginError
from hermes.types.request import Protocol, Request

LISTING_SECONDS: Final = 8.0
"""How long a profile is told that a server may take to list its models."""
_SHAPING: Final = ("prepare_messages", "build_extra_body", "build_api_kwargs_extras", "get_max_tokens")
_ADDRESS: Final = "_BASE_URL"
"""How the name of a variable ends that holds an address and no key."""
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}")
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e]{0,8000}")
_MOST_MODELS: Final = 5_000
"""Of one provider; the longest lists of servers have some hundreds."""
_LIMITS: Final = ("max_tokens", "max_completion_tokens")


class ProfileFields(Struct, frozen=True, kw_only=True):
    """What a profile says of its provider; `lists` tells whether it lists its models, `methods` which of
    those that have a say in requests are its own.
    """

    name: str
    api_mode: str = "chat_completions"
    aliases: tuple[str, ...] = ()
    display_name: str = ""
    signup_url: str = ""
    env_vars: tuple[str, ...] = ()
    base_url: str = ""
    auth_type: str = "api_key"
    hostname: str = ""
    default_headers: dict[str, str] = field(default_factory=dict)
    fixed_temperature: float | None = None
    omits_temperature: bool = False
    default_max_tokens: int | None = None
    default_aux_model: str = ""
    fallback_models: tuple[str, ...] = ()
    supports_vision: bool | None = None
    lists: bool = False
    methods: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The variables that may hold the key."""
        return tuple(one for one in self.env_vars if not one.endswith(_ADDRESS))

    @property
    def addresses(self) -> tuple[str, ...]:
        """The variables that may hold another address."""
        return tuple(one for one in self.env_vars if one.endswith(_ADDRESS))


class PluginProviderCode:
    """The methods of one profile, called by `answer` in a thread; satisfies
    `models.catalog.plugin_providers.ProviderCode`.
    """

    def __init__(
        self,
        plugin: str,
        fields: ProfileFields,
        answer: Callable[[str, Mapping[str, Any]], Any],
        seconds: float,
    ) -> None:
        self.plugin, self.lists = plugin, fields.lists
        self.shapes = bool(fields.methods) or fields.default_max_tokens is not None
        self._fields, self._answer, self._seconds = fields, answer, seconds

    async def shaped(self, body: Mapping[str, Any], request: Request, session_id: str) -> dict[str, Any]:
        """The body of a chat completion as the provider wants it; UnshapedError where that fails."""
        effort, endpoint = request.options.effort, request.endpoint
        reasoning = {"enabled": effort != "none", "effort": effort} if effort else None
        context: dict[str, Any] = {"session_id": session_id, "model": endpoint.model}
        context |= {"base_url": endpoint.base_url, "reasoning_config": reasoning}
        messages = await self._own("prepare_messages", {"messages": body["messages"]}, list[dict[str, Any]])
        extra = await self._own("build_extra_body", context, dict[str, Any] | None) or {}
        pair = tuple[dict[str, Any], dict[str, Any]] | None
        for part in await self._own("build_api_kwargs_extras", context, pair) or ():
            extra = {**extra, **part}
        made = merged(body, extra)
        limit = await self._own("get_max_tokens", context, int | None) or self._fields.default_max_tokens
        if limit and not any(name in made for name in _LIMITS):
            made["max_tokens"] = limit
        return made if messages is None else {**made, "messages": messages}

    async def listed(self, key: str, base_url: str) -> tuple[str, ...]:
        """The names of the models that the provider serves now; UnshapedError where that fails."""
        limit = min(LISTING_SECONDS, self._seconds)
        told = {"api_key": key, "base_url": base_url, "timeout": limit}
        try:
            names: tuple[str, ...] = await self._asked("fetch_models", told, tuple[str, ...])
        except UnshapedError as error:  # without its cause: that may tell the key
            raise UnshapedError(str(error).replace(key or " ", "…" if key else " ")) from None
        return names

    async def _own(self, method: str, told: Mapping[str, Any], kind: Any) -> Any:
        """What a method gives that the profile has of its own; None where it has none."""
        return await self._asked(method, told, kind) if method in self._fields.methods else None

    async def _asked(self, method: str, told: Mapping[str, Any], kind: Any) -> Any:
        try:
            with anyio.move_on_after(self._seconds):
                return msgspec.convert(await in_tool_thread(partial(self._answer, method, told)), kind)
        except BaseException as error:  # a plugin's fault stops nothing but its request
            if is_ctrl_c(error) or await is_cancellation(error):
                raise
            raise UnshapedError(self._fault(method, error_words(error))) from error
        raise UnshapedError(self._fault(method, f"nothing came within {self._seconds:g} s"))

    def _fault(self, method: str, words: str) -> str:
        where = f"its provider {self._fields.name}: {method}"
        return visible(f"The plugin {self.plugin} failed at {where}: {words.rstrip('.')}.")


def fields_of(profile: Any) -> dict[str, Any]:
    """What a profile says of its provider, as plain data."""
    told = {name: getattr(profile, name, None) for name in ProfileFields.__struct_fields__}
    told |= {"hostname": profile.get_hostname() if _is_own(profile, "get_hostname") else told["hostname"]}
    temperature = told.pop("fixed_temperature")
    if temperature is not None:
        is_number = isinstance(temperature, int | float)
        told |= {"fixed_temperature": temperature} if is_number else {"omits_temperature": True}
    lists = _is_own(profile, "fetch_models") or bool(getattr(profile, "models_url", ""))
    told |= {"lists": lists, "methods": [one for one in _SHAPING if _is_own(profile, one)]}
    return {name: value for name, value in told.items() if value is not None}


def answer(profile: Any, method: str, told: Mapping[str, Any]) -> Any:
    """What a method of a profile gives for these arguments; of the names of its models, a list."""
    found = _called(getattr(profile, method), told)
    return [*(found or ())] if method == "fetch_models" else found


def provider_of(
    told: Mapping[str, Any], plugin: str, answer: Callable[[str, Mapping[str, Any]], Any], seconds: float
) -> Provider:
    """The provider that the fields of a profile speak of, whose methods are asked by `answer` and have so
    many seconds; PluginError where it cannot be.
    """
    try:
        fields = msgspec.convert(told, ProfileFields)
    except msgspec.ValidationError as error:
        raise PluginError(f"its provider of models: {error}.", plugin=plugin, phase="load") from error
    if fault := _fault(fields) or _excess(fields):
        words = f"the provider of models {fields.name[:80]!r} {fault}."
        raise PluginError(words, plugin=plugin, phase="load")
    place = f"${{{'|'.join(fields.addresses)}:-{fields.base_url}}}" if fields.addresses else fields.base_url
    return Provider(
        name=fields.name,
        base_url=place.replace(":-}", "}"),
        title=fields.display_name,
        protocol=fields.api_mode,  # type: ignore[arg-type]  # one of its words
        keys=fields.keys,
        aliases=fields.aliases,
        keyless=not fields.keys,
        hosts=(fields.hostname,) if fields.hostname else (),
        headers=fields.default_headers,
        small=fields.default_aux_model,
        signup=fields.signup_url,
        own=not fields.keys,
        models=fields.fallback_models,
        fixed={} if fields.fixed_temperature is None else {"temperature": fields.fixed_temperature},
        omits=frozenset({"temperature"} if fields.omits_temperature else ()),
        vision=fields.supports_vision,
        code=PluginProviderCode(plugin, fields, answer, seconds),
    )


def _fault(fields: ProfileFields) -> str:
    """What is wrong with the fields of a profile, or nothing."""
    parts = urlsplit(fields.base_url)
    if not all(map(is_name, (fields.name, *fields.aliases))):
        return "or one of its aliases is no name"
    if fields.api_mode not in get_args(Protocol):
        return f"has the api_mode {fields.api_mode[:80]!r}; there are {', '.join(get_args(Protocol))}"
    if fields.auth_type not in {"api_key", "none"}:
        return f"has the auth_type {fields.auth_type[:80]!r}; there are api_key and none"
    if not all(map(_VARIABLE.fullmatch, fields.env_vars)):
        return "names a variable in env_vars that can be none"
    # an address with a variable in it could carry any secret of the user away
    if fields.base_url and (parts.scheme not in {"http", "https"} or set("${}") & set(fields.base_url)):
        return f"has the base_url {fields.base_url[:80]!r}, which is no address"
    return ""


def _excess(fields: ProfileFields) -> str:
    """What a profile says that no request can carry, or no list can show; or nothing."""
    if len(fields.fallback_models) > _MOST_MODELS:
        return f"has {len(fields.fallback_models):,} fallback_models; {_MOST_MODELS:,} is the most"
    for name, value in fields.default_headers.items():
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            return (
                f"has the header {name[:80]!r} in default_headers, whose name or value no request can carry"
            )
    return ""


def _called(method: Callable[..., Any], offered: Mapping[str, Any]) -> Any:
    """What a method gives for those of the offered arguments that it takes."""
    parameters = inspect.signature(method).parameters
    takes_all = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    return method(**{name: value for name, value in offered.items() if takes_all or name in parameters})


def _is_own(profile: Any, name: str) -> bool:
    """Whether a profile has a method that is not the published class's own."""
    method = getattr(profile, name, None)
    return callable(method) and not getattr(method, "is_published", False)
