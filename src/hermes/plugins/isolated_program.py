"""The process of an isolated plugin: it loads one plugin, tells what that adds, and runs its tools and hooks.

Each line of its standard input is a request and each of its standard output an answer, in JSON. It ends with
its input, so that it never outlives whoever started it; what the plugin prints goes to standard error.
"""

import asyncio  # noqa: TID251  # the plugin's own code is asyncio
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from threading import Lock
from typing import IO, Any, Final

import msgspec

from hermes.config.home import Home
from hermes.hooks import SPECS, Hooks, wanted_arguments
from hermes.lib.threads import submit
from hermes.plugins import model_providers
from hermes.plugins.aliases import Guest, GuestFinder, PublishedNames
from hermes.plugins.context import middleware_point, refused_hook
from hermes.plugins.keeper import begin_kept
from hermes.plugins.loading import enter, module_of
from hermes.plugins.manifest import PluginManifest
from hermes.tools.registry import PLUGIN_MODULES, PLUGIN_SOURCE, ToolRegistry

_ONLY: Final = "adds tools, hooks and providers of models only"


class IsolatedContext:
    """What `register(ctx)` gets in a process of its own: tools, hooks and providers of models can be added,
    nothing else.
    """

    def __init__(self) -> None:
        self.tools = ToolRegistry()
        self.hooks: list[tuple[str, Callable[..., Any]]] = []
        self.refused: list[str] = []
        self.model_providers: list[Any] = []

    @property
    def has_added(self) -> bool:
        """Whether anything was added."""
        return bool(self.tools.entries() or self.hooks or self.model_providers or self.refused)

    def register_tool(self, *args: Any, **keywords: Any) -> None:
        """Add a tool."""
        self.tools.register(*args, **keywords)

    def register_hook(self, hook_name: str, callback: Callable[..., Any]) -> None:
        """Have a callback called at a hook point; one that cannot be is refused."""
        try:
            _check_hook(hook_name, callback)
        except ValueError as error:
            self.refused.append(refused_hook(hook_name, error))
            return
        self.hooks.append((hook_name, callback))

    def register_middleware(self, kind: str, callback: Callable[..., Any]) -> None:
        """Have a callback change the arguments of calls, or requests to models."""
        self.register_hook(middleware_point(kind), callback)

    def register_model_provider(self, profile: Any) -> None:
        """Add a provider of models."""
        self.model_providers.append(profile)

    def __getattr__(self, name: str) -> Any:
        """Whatever else plugins may ask of a context; what would add something else is refused by itself."""
        if name.startswith("register_"):
            return partial(self._refuse, name)
        raise AttributeError(f"a plugin in a process of its own {_ONLY}, and has no {name}")

    def _refuse(self, method: str, *args: Any, **keywords: Any) -> None:
        what = next((one for one in (*args, *keywords.values()) if isinstance(one, str)), "")
        self.refused.append(
            f"{method} {what}".rstrip() + f" was refused: in a process of its own it {_ONLY}."
        )


class _ServedPlugin:
    """The plugin and the way back."""

    def __init__(self, answers: IO[bytes]) -> None:
        self._answers = answers
        self._context = IsolatedContext()
        self._lock = Lock()  # invariant: a line is written by one thread at a time

    def load(self, manifest: PluginManifest, home: Home) -> None:
        """Load the plugin and tell what it adds, or what went wrong."""
        context, name = self._context, f"{PLUGIN_MODULES}isolated"
        try:
            environ = dict(os.environ)  # noqa: TID251  # what it was given
            names = PublishedNames(Guest(home=home, environ=environ, context=context))
            GuestFinder(name, names).install()
            with context.tools.loading(f"{PLUGIN_SOURCE}isolated", name) as refused:
                module = module_of(Path(manifest.path), name, names)
                enter(getattr(module, "register", None), context, manifest.key)
            providers = [model_providers.fields_of(one) for one in context.model_providers]
        except BaseException as error:  # noqa: BLE001  # whatever it is, it is told
            self._say({"fault": f"{type(error).__name__}: {error}"})
            return
        hooks = [point for point, _ in context.hooks]
        tools = [_told(one) for one in context.tools.entries().values()]
        told = {"tools": tools, "hooks": hooks, "providers": providers}
        self._say({**told, "refused": [*refused, *context.refused]})

    def answer(self, asked: Mapping[str, Any]) -> None:
        """Run what is asked for, and tell what it gave."""
        try:
            found = self._work(asked)
            found = asyncio.run(_awaited(found)) if inspect.isawaitable(found) else found
            self._say({"id": asked["id"], "result": found})
        except BaseException as error:  # noqa: BLE001  # as above
            self._say({"id": asked["id"], "error": f"{type(error).__name__}: {error}"})

    def _work(self, asked: Mapping[str, Any]) -> Any:
        match asked["what"]:
            case "tool":
                entry = self._context.tools.entries()[asked["name"]]
                return entry.handler(asked["args"], **asked["keywords"])
            case "check":
                check = self._context.tools.entries()[asked["name"]].check_fn
                return bool(check is None or check())
            case "provider":
                return model_providers.answer(
                    self._context.model_providers[asked["number"]], asked["asked"], asked["told"]
                )
            case _:
                point, callback = self._context.hooks[asked["number"]]
                wanted = wanted_arguments(point, callback)
                given = {
                    key: value for key, value in asked["args"].items() if wanted is None or key in wanted
                }
                return callback(**given)

    def _say(self, told: Mapping[str, Any]) -> None:
        line = msgspec.json.encode(told, enc_hook=str) + b"\n"
        with self._lock:
            self._answers.write(line)
            self._answers.flush()


def _check_hook(name: str, callback: Callable[..., Any]) -> None:
    """ValueError where this process cannot have a hook called."""
    Hooks().register(name, callback)
    if SPECS[name].kind == "around":
        raise ValueError(f"{name} stands around a call, which happens in another process.")


def _told(entry: Any) -> dict[str, Any]:
    """A tool as it is registered in the process that asks for it."""
    return {
        "name": entry.name,
        "toolset": entry.toolset,
        "schema": entry.schema,
        "requires_env": entry.requires_env,
        "description": entry.description,
        "emoji": entry.emoji,
        "outside": entry.outside,
        "manifest": entry.manifest,
        "checks": entry.check_fn is not None,
    }


async def _awaited(found: Any) -> Any:
    return await found


def main() -> None:
    """Serve one plugin, whose manifest the first line has, until nothing comes any more."""
    begin_kept(int(sys.argv[1]), sys.argv[2])
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    served = _ServedPlugin(answers)
    for line in sys.stdin.buffer:
        asked = msgspec.json.decode(line)
        if "manifest" in asked:
            manifest = msgspec.convert(asked["manifest"], PluginManifest)
            served.load(manifest, Home(root=Path(asked["home"]), profile=asked["profile"]))
        else:
            submit(partial(served.answer, asked))
    os._exit(0)  # whatever its threads are at


if __name__ == "__main__":
    main()
