"""A plugin's own requests to models, `ctx.llm`: on the executor and the budget of the day like all others,
with the user's model unless the user lets the plugin choose.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Struct

from hermes.agent.ledger import Ledger
from hermes.agent.output import output_by
from hermes.agent.routes import Routes
from hermes.lib.aio import HomeLoop
from hermes.models.reliability.executor import RequestExecutor
from hermes.models.reliability.listener import ReplyListener
from hermes.plugins.settings import PluginLlmTrust, PluginTaskModel
from hermes.types.error import ConfigError, PluginError
from hermes.types.message import Assistant, Message, User
from hermes.types.request import Endpoint, Options, Request
from hermes.types.usage import NO_USAGE

SECONDS: Final = 30.0
"""How long a request may take that says nothing else."""
_FREE: Final = ("temperature", "max_tokens", "timeout")
"""What defaults of a task may say of a request."""
_TO_CHOOSE: Final = ("provider", "model")
"""The same, as far as the plugin may choose it."""
_USERS: Final = ("", "auto", "main")
"""Words for the user's own provider or model."""
_JSON: Final = "Answer with one JSON value, with nothing before or after it."
_FITS: Final = "Answer with one JSON value that fits this JSON Schema, with nothing before or after it:\n{}"


class PluginLlmTrustError(PluginError, PermissionError):
    """A plugin wanted something of a request that the user has not left to it."""


class LlmAnswer(Struct, frozen=True, kw_only=True):
    """What a model has answered to a plugin; `parsed` is the JSON value of one that was to be JSON."""

    text: str
    provider: str
    model: str
    agent_id: str
    usage: Mapping[str, int]
    audit: Mapping[str, str]
    parsed: Any = None
    content_type: str = "text/plain"


class _Wish(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a plugin wants of one request."""

    provider: str = ""
    model: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    timeout: float | None = None
    agent_id: str = ""
    profile: str = ""
    purpose: str = ""


class ModelRoad(Struct, frozen=True, kw_only=True):
    """What requests of plugins go through."""

    executor: RequestExecutor
    routes: Routes
    ledger: Ledger

    async def ask(self, endpoint: Endpoint, request: Request, task: str, seconds: float) -> Assistant:
        """The reply; ModelError where there is none, BudgetSpent where the day's budget is."""
        listener = ReplyListener(
            emit=lambda _: None,
            tell=lambda event: self.ledger.count("", event, task=task),
            broken=lambda _: None,
        )
        route = self.routes.chain_for([endpoint], _served_elsewhere)
        budget = self.ledger.session(NO_USAGE)
        return await self.executor.stream(request, route, listener, budget, seconds=seconds)


class PluginLlm:
    """Asks models for one plugin: `complete` and `complete_structured` from its threads, `acomplete` and
    `acomplete_structured` from whichever loop.
    """

    def __init__(
        self,
        plugin: str,
        road: ModelRoad,
        loop: HomeLoop,
        trust: PluginLlmTrust,
        defaults: Callable[[str], Mapping[str, Any]],
    ) -> None:
        self._plugin, self._road, self._loop, self._trust = plugin, road, loop, trust
        self._defaults = defaults

    def complete(self, messages: Sequence[Mapping[str, Any]], **wanted: Any) -> LlmAnswer:
        """As `acomplete`, for a thread."""
        return self._loop.run_blocking(partial(self._complete, messages, **wanted))

    def complete_structured(self, **wanted: Any) -> LlmAnswer:
        """As `acomplete_structured`, for a thread."""
        return self._loop.run_blocking(partial(self._structured, **wanted))

    async def acomplete(self, messages: Sequence[Mapping[str, Any]], **wanted: Any) -> LlmAnswer:
        """The answer to messages, each with `role` and `content`.

        `temperature`, `max_tokens`, `timeout` (seconds) and `purpose` are free to choose; `provider`,
        `model`, `agent_id` and `profile` need the user's leave, else PluginLlmTrustError says so. Where
        `purpose` is a side task of the plugin, its defaults count, and a model that the user sets for it.
        """
        return await self._loop.run(partial(self._complete, messages, **wanted))

    async def acomplete_structured(self, **wanted: Any) -> LlmAnswer:
        """The answer to `instructions` about an `input`, as JSON that fits `json_schema`, or with `json_mode`
        any JSON; the rest as for `acomplete`. PluginError where it is none.
        """
        return await self._loop.run(partial(self._structured, **wanted))

    async def _complete(
        self, messages: Sequence[Mapping[str, Any]], *, schema: Mapping[str, Any] | None = None, **wanted: Any
    ) -> LlmAnswer:
        wish = msgspec.convert({**self._suggested(str(wanted.get("purpose", ""))), **wanted}, _Wish)
        endpoint = self._endpoint(wish)
        system, said = _read(messages)
        options = Options(temperature=wish.temperature, max_output=wish.max_tokens, output_schema=schema)
        request = Request(endpoint=endpoint, system=system, messages=said, options=options)
        task = f"plugin {self._plugin}"
        reply = await self._road.ask(endpoint, request, task, wish.timeout or SECONDS)
        return LlmAnswer(
            text=reply.text,
            provider=reply.provider or endpoint.provider,
            model=reply.model or endpoint.model,
            agent_id=wish.agent_id,
            usage={"input_tokens": reply.usage.input_tokens, "output_tokens": reply.usage.output_tokens},
            audit={"plugin": self._plugin, "purpose": wish.purpose},
        )

    async def _structured(
        self,
        *,
        instructions: str,
        input: Any,  # noqa: A002  # as documented
        json_schema: Mapping[str, Any] | None = None,
        system_prompt: str = "",
        **wanted: Any,
    ) -> LlmAnswer:
        wanted.pop("schema_name", "")
        is_json = bool(wanted.pop("json_mode", False)) or json_schema is not None
        given = input if isinstance(input, str) else msgspec.json.encode(input, enc_hook=str).decode()
        form = _FITS.format(msgspec.json.encode(json_schema).decode()) if json_schema else _JSON * is_json
        words = "\n\n".join(filter(None, (instructions, given, form)))
        messages = [{"role": "system", "content": system_prompt}, {"role": "user", "content": words}]
        answer = await self._complete(messages, schema=json_schema, **wanted)
        if not is_json:
            return answer
        try:
            parsed = output_by(dict(json_schema or {})).value(answer.text)
        except ValueError as error:
            raise PluginError(
                f"The answer does not fit: {error}.", plugin=self._plugin, phase="llm"
            ) from error
        return msgspec.structs.replace(answer, parsed=parsed, content_type="application/json")

    def _suggested(self, purpose: str) -> dict[str, Any]:
        """The defaults of a task; its model only where the plugin may choose that."""
        given = self._defaults(purpose)
        free = {name: given[name] for name in _FREE if given.get(name) is not None}
        chosen = {name: str(given[name]) for name in _TO_CHOOSE if given.get(name, "") not in _USERS}
        return free | (chosen if all(self._may(name, one) for name, one in chosen.items()) else {})

    def _endpoint(self, wish: "_Wish") -> Endpoint:
        """Who is asked: what the user sets for the task, else what the plugin may choose, else the user's."""
        own = self._trust.tasks.get(wish.purpose)
        self._check(wish if own is None else msgspec.structs.replace(wish, provider="", model=""))
        chosen = own or PluginTaskModel(provider=wish.provider, model=wish.model)
        named = "/".join(filter(None, (chosen.provider, chosen.model)))
        return self._road.routes.endpoint(named, chosen.base_url)

    def _may(self, name: str, value: str) -> bool:
        trust = self._trust
        is_allowed, listed = {
            "provider": (trust.allow_provider_override, trust.allowed_providers),
            "model": (trust.allow_model_override, trust.allowed_models),
            "agent_id": (trust.allow_agent_id_override, []),
            "profile": (trust.allow_profile_override, []),
        }[name]
        return not value or (is_allowed and (not listed or value in listed))

    def _check(self, wish: "_Wish") -> None:
        """PluginLlmTrustError where a plugin wants what the user has not left to it."""
        for name in ("provider", "model", "agent_id", "profile"):
            value = getattr(wish, name)
            if not self._may(name, value):
                key = f"plugins.entries.{self._plugin}.llm.allow_{name}_override"
                raise PluginLlmTrustError(
                    f"The plugin {self._plugin} may not choose the {name} {value!r} of a request; {key} lets"
                    " it.",
                    plugin=self._plugin,
                    phase="llm",
                )


def _read(messages: Sequence[Mapping[str, Any]]) -> tuple[str, tuple[Message, ...]]:
    """The system prompt of messages, and what was said."""
    system = "\n\n".join(str(one["content"]) for one in messages if one["role"] == "system")
    said: list[Message] = []
    for one in messages:
        if one["role"] == "user":
            said.append(User(id=str(len(said)), at=0.0, text=str(one["content"])))
        elif one["role"] == "assistant":
            said.append(Assistant(id=str(len(said)), at=0.0, text=str(one["content"])))
    return system.strip(), tuple(said)


async def _served_elsewhere(endpoint: Endpoint) -> Endpoint:
    """A plugin asks models that a server has; ConfigError for one that would have to be loaded here."""
    if endpoint.local:
        raise ConfigError(
            "Plugins can ask models of a server only; hermes model chooses one, or plugins.entries.NAME.llm"
            " lets the plugin choose."
        )
    return endpoint
