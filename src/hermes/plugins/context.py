"""What a plugin's `register(ctx)` gets: every way to add something to Hermes."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

from hermes.agent.extensions import PluginCommand, PluginProgram, Provision
from hermes.hooks import HookCallback
from hermes.lib.lazy import import_object
from hermes.lib.visible import visible
from hermes.models.catalog.plugin_providers import PluginProviders
from hermes.plugins.aliases import ADAPTED_CONTEXT, ADAPTED_MEMORY
from hermes.plugins.host import PluginHost
from hermes.plugins.llm import PluginLlm
from hermes.plugins.manifest import PluginManifest, is_name
from hermes.plugins.request_bounds import POINTS, RequestBound
from hermes.plugins.settings import PluginEntry
from hermes.skills.skill_file import load
from hermes.tools.registry import PLUGIN_SOURCE
from hermes.types.error import PluginError
from hermes.types.tool import UNDECLARED, Handler, ToolManifest

_LONGEST: Final = 1_000
"""Characters of what is told of a hook."""
_OVERRIDE: Final = "plugins.entries.{}.allow_tool_override: true lets this plugin replace it"


_MIDDLEWARE: Final = {
    "tool_request": "transform_tool_args",
    "tool_execution": "tool_execution",
    "llm_request": "llm_request",
    "llm_execution": "llm_execution",
    "api_request": "llm_request",
    "api_execution": "llm_execution",
}
"""Kinds of middleware, and the hook points that they are."""


def middleware_point(kind: str) -> str:
    """The hook point of a kind of middleware; ValueError where there is no such kind."""
    if kind not in _MIDDLEWARE:
        raise ValueError(f"There is no middleware {kind!r}; there are {', '.join(_MIDDLEWARE)}.")
    return _MIDDLEWARE[kind]


def _keeps(kind: str) -> Callable[["PluginContext", Any], None]:
    """A method that keeps a provider of one kind for the part of Hermes that asks for it."""

    def register(self: "PluginContext", provider: Any) -> None:
        self.keep(kind, str(getattr(provider, "name", "") or type(provider).__name__), provider)

    register.__doc__ = f"Keep a {kind.replace('_', ' ')} for the part of Hermes that asks for one."
    return register


def refused_hook(name: str, error: ValueError) -> str:
    """What is told of a hook that cannot be: the plugin goes on without it."""
    return visible(f"the hook {name} was refused: {error}")[:_LONGEST]


class PluginContext:
    """One plugin's way into a runtime; what it adds is told by `provides`, what was refused by `refused`.

    A name that is taken is refused with a PluginError; after `withdraw` nothing of it is left.
    """

    def __init__(self, manifest: PluginManifest, host: PluginHost, entry: PluginEntry) -> None:
        self.manifest = manifest
        self.refused: list[str] = []
        self.provides: list[str] = []
        self._host, self._entry = host, entry
        self._request_bound = RequestBound(manifest.key, entry.request_fields)
        self._undo = ExitStack()
        self._is_over = False

    @property
    def source(self) -> str:
        """What its tools have as their source."""
        return f"{PLUGIN_SOURCE}{self.manifest.key}"

    @property
    def has_added(self) -> bool:
        """Whether it has added, or wanted to add, anything."""
        return bool(self.provides or self.refused)

    @property
    def how_allowed(self) -> str:
        """How a user lets it replace tools from elsewhere; "" where that is so."""
        return "" if self._entry.allow_tool_override else _OVERRIDE.format(self.manifest.key)

    @property
    def llm(self) -> PluginLlm:
        """Requests to models; PluginError where no session can be opened, as in hermes plugins list."""
        if self._host.models is None:
            words = "There are no models here: plugins ask them in a session."
            raise PluginError(words, plugin=self.manifest.key, phase="llm")
        key = self.manifest.key
        return PluginLlm(key, self._host.models, self._host.loop, self._entry.llm, self._task_defaults)

    @property
    def profile_name(self) -> str:
        """The profile in force."""
        return self._host.home.profile

    def register_tool(
        self,
        name: str,
        toolset: str,
        schema: Mapping[str, Any],
        handler: Handler,
        check_fn: Callable[[], object] | None = None,
        requires_env: Sequence[str] | None = None,
        is_async: bool = False,
        description: str = "",
        emoji: str = "",
        override: bool = False,
        *,
        outside: bool | None = None,
        manifest: ToolManifest = UNDECLARED,
    ) -> None:
        """Add a tool, as `registry.register` does; `override` needs the user's leave."""
        self._refuse_over()
        with self._host.registry.loading(self.source, how_allowed=self.how_allowed) as refused:
            self._host.registry.register(
                name,
                toolset,
                schema,
                handler,
                check_fn,
                requires_env,
                is_async,
                description,
                emoji,
                override=override,
                outside=outside,
                manifest=manifest,
            )
        self.refused += refused
        if not refused:
            self.provides.append(f"tool {name}")

    def dispatch_tool(self, tool_name: str, args: Mapping[str, Any], **kwargs: Any) -> str:
        """Run a tool by name and give its JSON string. One that works on the machine needs the `ctx` of a
        session's call among the keywords: what it does is decided there.
        """
        return self._host.registry.dispatch(tool_name, args, **kwargs)

    def inject_message(self, content: str, role: str = "user") -> bool:
        """Send a message as the person at the screen would; False where there is no screen."""
        if role != "user" or not self._host.extensions.inboxes:
            return False
        self._host.loop.call(self._host.extensions.inboxes[-1], content)
        return True

    def register_hook(self, hook_name: str, callback: HookCallback) -> None:
        """Have a callback called at a hook point; it is refused where the point is unknown, or does not offer
        what the callback takes.
        """
        self._refuse_over()
        owner = f"the plugin {self.manifest.key}"
        bound = self._request_bound if hook_name in POINTS else None
        try:
            undo = self._host.hooks.register(hook_name, callback, owner=owner, bound=bound)
        except ValueError as error:
            self.refused.append(refused_hook(hook_name, error))
            return
        self._undo.callback(undo)
        self.provides.append(f"hook {hook_name}")

    def has_hook(self, hook_name: str) -> bool:
        """Whether anything is called at a hook point."""
        return hook_name in self._host.hooks

    def tell_hook(self, hook_name: str, **told: Any) -> None:
        """Tell the callbacks of a hook point, from a thread."""
        self._host.loop.run_blocking(partial(self._host.hooks.observe, hook_name, **told))

    def register_middleware(self, kind: str, callback: HookCallback) -> None:
        """Have a callback change the arguments of calls (`tool_request`) or requests to models
        (`llm_request`), or stand around them (`tool_execution`, `llm_execution`).
        """
        self.register_hook(middleware_point(kind), callback)

    def register_command(
        self, name: str, handler: Callable[[str], Any], description: str = "", args_hint: str = ""
    ) -> None:
        """Add a slash command; `handler` gets what was typed after it, and what it gives is shown."""
        command = PluginCommand(
            name=name.removeprefix("/").lower(),
            plugin=self.manifest.key,
            handler=handler,
            description=description,
            arguments=args_hint,
        )
        self._add("command", self._host.extensions.commands, command.name, command)

    def register_cli_command(
        self,
        name: str,
        help: str,  # noqa: A002  # as documented
        setup_fn: Callable[[Any], object],
        handler_fn: Callable[[Any], Any] | None = None,
        description: str = "",
    ) -> None:
        """Add `hermes NAME`: `setup_fn` gets a parser of argparse, `handler_fn` what was parsed."""
        program = PluginProgram(
            name=name,
            plugin=self.manifest.key,
            help=help,
            setup=setup_fn,
            run=handler_fn,
            description=description,
        )
        self._add("subcommand", self._host.extensions.programs, name, program)

    def register_skill(self, name: str, path: str | Path, description: str = "") -> None:
        """Add a skill, which is called `plugin:name`; SkillError where there is no SKILL.md to read."""
        self._refuse_over()
        place = Path(path)
        called = f"{self.manifest.name}:{name}"
        skill = load(place.parent if place.is_file() else place)
        self._undo.callback(self._host.skills.include(called, skill, description))
        self.provides.append(f"skill {called}")

    def register_context_engine(self, engine: Any) -> None:
        """Let `context.engine` choose a context manager by its name, of our form or of the original's."""
        self._refuse_over()
        name, engines = str(engine.name), self._host.engines
        is_ours = hasattr(engine, "make_room")
        make = (lambda _: engine) if is_ours else partial(import_object(f"{ADAPTED_CONTEXT}adapted"), engine)
        engines.register(name, make)
        self._undo.callback(engines.withdraw, name)
        self.provides.append(f"context engine {name}")
        if not is_ours:
            import_object(f"{ADAPTED_CONTEXT}attach")(self, engine, lambda: engines.chosen == name)

    def register_memory_provider(self, provider: Any) -> None:
        """Let `memory.provider` choose a memory by its name, of our form or of the original's."""
        self._refuse_over()
        is_ours = hasattr(provider, "session_started")
        make = (lambda _: provider) if is_ours else partial(import_object(ADAPTED_MEMORY), provider)
        self._host.memory.register(str(provider.name), make)
        self._undo.callback(self._host.memory.withdraw, str(provider.name))
        self.provides.append(f"memory provider {provider.name}")

    def register_model_provider(self, profile: Any) -> None:
        """Let `provider/model` name the provider of models that a profile describes."""
        code = import_object("hermes.plugins.model_providers")
        self.add_model_provider(code.fields_of(profile), partial(code.answer, profile), profile)

    def add_model_provider(
        self, fields: Mapping[str, Any], answer: Callable[[str, Mapping[str, Any]], Any], profile: Any
    ) -> None:
        """The same for a profile that may be elsewhere: `answer` is `plugins.model_providers.answer` for it.
        One that cannot be had is refused alone.
        """
        self._refuse_over()
        code, plugin = import_object("hermes.plugins.model_providers"), self.manifest.key
        host, may_replace = self._host, self._entry.allow_model_provider_override
        known = host.settings[PluginProviders].by_name
        check_claims = import_object("hermes.plugins.provider_claims:check_claims")
        try:
            made = code.provider_of(fields, plugin, answer, host.hooks.seconds)
            check_claims(made, plugin, host.home, host.settings, may_replace=may_replace)
            self.keep("model_provider", made.name, profile)
        except PluginError as error:
            self.refused.append(str(error))
            return
        known[made.name] = made
        self._undo.callback(known.pop, made.name, None)

    @property
    def model_providers(self) -> list[Any]:
        """The profiles of the providers of models that plugins have added."""
        return [one.value for one in self._host.extensions.of_kind("model_provider")]

    def register_auxiliary_task(
        self, key: str, *, display_name: str, description: str, defaults: Mapping[str, Any] | None = None
    ) -> None:
        """Have requests to models with the purpose `key` take these defaults, and the model that the user
        sets for it.
        """
        about = {"display_name": display_name, "description": description, "defaults": dict(defaults or {})}
        self.keep("auxiliary_task", key, about)

    def _task_defaults(self, key: str) -> Mapping[str, Any]:
        """The defaults of a side task of this plugin; nothing where it has no such task."""
        tasks = self._host.extensions.of_kind("auxiliary_task")
        mine = (one.value["defaults"] for one in tasks if (one.plugin, one.name) == (self.manifest.key, key))
        found: Mapping[str, Any] = next(mine, {})
        return found

    def register_platform(
        self,
        name: str,
        label: str,
        adapter_factory: Callable[..., Any],
        check_fn: Callable[[], object],
        **entry: Any,
    ) -> None:
        """Keep a chat platform for the gateway."""
        about = {"label": label, "adapter_factory": adapter_factory, "check_fn": check_fn, **entry}
        self.keep("platform", name, about)

    def register_slack_action_handler(self, action_id: str, callback: Callable[..., Any]) -> None:
        """Keep what is called when a button of that id is pressed in Slack."""
        self.keep("slack_action_handler", action_id, callback)

    register_image_gen_provider = _keeps("image_gen_provider")
    register_video_gen_provider = _keeps("video_gen_provider")
    register_web_search_provider = _keeps("web_search_provider")
    register_browser_provider = _keeps("browser_provider")
    register_tts_provider = _keeps("tts_provider")
    register_transcription_provider = _keeps("transcription_provider")
    register_secret_source = _keeps("secret_source")
    register_dashboard_auth_provider = _keeps("dashboard_auth_provider")

    def keep(self, kind: str, name: str, value: Any) -> None:
        """Keep something for the part of Hermes that asks for its kind."""
        self._refuse_over()
        one = Provision(kind=kind, name=name, plugin=self.manifest.key, value=value)
        if any(other.name == name for other in self._host.extensions.of_kind(kind)):
            raise self._taken(kind, name)
        self._host.extensions.provisions.append(one)
        self._undo.callback(self._host.extensions.provisions.remove, one)
        self.provides.append(f"{kind.replace('_', ' ')} {name}")

    def after(self, undo: Callable[[], object]) -> None:
        """Have this done as well when it is withdrawn."""
        self._undo.callback(undo)

    def withdraw(self) -> None:
        """Take back all that it has added; from now on it adds nothing."""
        self._is_over = True
        self._undo.close()
        self._host.registry.deregister_source(self.source)

    def _add(self, kind: str, table: dict[str, Any], name: str, one: object) -> None:
        self._refuse_over()
        if not is_name(name):
            raise PluginError(
                f"{name[:80]!r} is no name of a {kind}.", plugin=self.manifest.key, phase="load"
            )
        if name in table:
            raise self._taken(kind, name)
        table[name] = one
        self._undo.callback(table.pop, name, None)
        self.provides.append(f"{kind} {name}")

    def _taken(self, kind: str, name: str) -> PluginError:
        words = f"there is a {kind.replace('_', ' ')} {name} already"
        return PluginError(f"{words}.", plugin=self.manifest.key, phase="load")

    def _refuse_over(self) -> None:
        if self._is_over:
            words = f"The plugin {self.manifest.key} is not in use any more; it adds nothing."
            raise PluginError(words, plugin=self.manifest.key, phase="run")
