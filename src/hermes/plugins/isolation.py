"""A plugin in a process of its own: what it adds is here, and runs there."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from functools import partial
from itertools import count
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import IO, Any, Final

import msgspec

import hermes.lib
from hermes.config.home import Home
from hermes.environments.child_env import child_environment
from hermes.environments.process_tree import MARKER, kill
from hermes.hooks import HookCallback
from hermes.lib.threads import submit
from hermes.lib.visible import visible
from hermes.plugins.context import PluginContext
from hermes.plugins.manifest import PluginManifest
from hermes.tools.registry import tool_error
from hermes.types.error import PluginError
from hermes.types.tool import Handler, ToolManifest

PROGRAM: Final = "hermes.plugins.isolated_program"
_LONGEST: Final = 64_000_000
"""Bytes of one answer."""
_KEEPER_SECONDS: Final = 6.0
"""How long a keeper may take to end what the kernel ends within five seconds."""
_UNNAMED: Final = "its provider of models {} wants {}, which its manifest does not name as a variable."
_KEYWORDS: Final = ("task_id", "session_id", "user_task", "tool_call_id")


class IsolatedPlugin:
    """The process of one plugin; one that has ended is started anew by the next call."""

    def __init__(self, manifest: PluginManifest, environ: Mapping[str, str], home: Home) -> None:
        self._manifest, self._environ = manifest, _variables(manifest, environ)
        self._about = {"manifest": manifest, "home": str(home.root), "profile": home.profile}
        self._lock = Lock()  # invariant: a call is written whole, to the process that `_waiting` belongs to
        self._numbers = count(1)
        self._waiting: dict[int, Future[Any]] = {}
        self._child: subprocess.Popen[bytes] | None = None
        self._end: Callable[[], None] = lambda: None
        self._is_closed = False

    def load(self, context: PluginContext) -> None:
        """Start the process, and add what the plugin adds there; PluginError where it cannot be loaded."""
        with self._lock:
            added = self._start()
        for one in added["tools"]:
            self._add_tool(context, one)
        for number, point in enumerate(added["hooks"]):
            context.register_hook(point, self._hook(number))
        for number, fields in enumerate(added["providers"]):
            self._add_provider(context, fields, number)
        context.refused += map(visible, added["refused"])

    def call(self, what: str, **more: Any) -> Any:
        """What the process gives for a request; PluginError where that fails, or the process ends."""
        answer: Future[Any] = Future()
        number = next(self._numbers)
        line = msgspec.json.encode({"id": number, "what": what, **more}, enc_hook=str) + b"\n"
        with self._lock:
            if self._child is None or self._child.poll() is not None:
                self._start()
            self._waiting[number] = answer
            self._write(line)
        return answer.result()

    def close(self) -> None:
        """End the process, with all that it has started."""
        self._is_closed = True
        if (child := self._child) is not None:
            self._end()
            _close_input(child)

    def _add_tool(self, context: PluginContext, one: Mapping[str, Any]) -> None:
        name = one["name"]
        context.register_tool(
            name,
            one["toolset"],
            one["schema"],
            self._handler(name),
            partial(self._checked, name) if one["checks"] else None,
            one["requires_env"],
            description=one["description"],
            emoji=one["emoji"],
            outside=one["outside"],
            manifest=msgspec.convert(one["manifest"], ToolManifest),
        )

    def _add_provider(self, context: PluginContext, fields: Mapping[str, Any], number: int) -> None:
        """Add a provider of models whose variables the manifest names, as all that goes to this plugin."""
        named = {*self._manifest.requires_env, *self._manifest.optional_env}
        unnamed = [str(one) for one in fields.get("env_vars", ()) if one not in named]
        if unnamed:
            context.refused.append(_UNNAMED.format(fields.get("name"), ", ".join(unnamed)))
            return
        context.add_model_provider(fields, partial(self._answered, number), fields)

    def _answered(self, number: int, what: str, told: Mapping[str, Any]) -> Any:
        return self.call("provider", number=number, asked=what, told=told)

    def _handler(self, name: str) -> Handler:
        def handler(args: Mapping[str, Any], **keywords: Any) -> str:
            told = {key: str(keywords.get(key, "")) for key in _KEYWORDS}
            try:
                found = self.call("tool", name=name, args=args, keywords=told)
            except PluginError as error:
                return tool_error(str(error))
            return found if isinstance(found, str) else tool_error(f"The tool gave no text: {found!r}"[:500])

        return handler

    def _checked(self, name: str) -> object:
        return self.call("check", name=name)

    def _hook(self, number: int) -> HookCallback:
        def callback(**offered: Any) -> Any:
            return self.call("hook", number=number, args=offered)

        return callback

    def _start(self) -> dict[str, Any]:
        """Start the process and have it load the plugin; what that adds."""
        if self._is_closed:
            raise self._fault("is not in use any more")
        marker = token_hex(16)
        child, lifeline = _started(self._environ, marker)
        self._child, self._end = child, partial(_end, child, lifeline, marker)
        end = self._end
        self._write(msgspec.json.encode(self._about) + b"\n")
        added = _line(child)
        if added is None or "fault" in added:
            end()
            _closed(child)
            raise self._fault(f"failed: {added['fault']}" if added else "ended while it was loaded")
        waiting = self._waiting = {}
        submit(partial(self._read, child, waiting, end))
        return added

    def _read(
        self, child: subprocess.Popen[bytes], waiting: dict[int, Future[Any]], end: Callable[[], None]
    ) -> None:
        """Hand out answers as they come; what has none when the process ends fails."""
        while (told := _line(child)) is not None:
            answer = waiting.pop(told["id"], None)
            if answer is not None and "error" in told:
                answer.set_exception(self._fault(f"failed: {told['error']}"))
            elif answer is not None:
                answer.set_result(told["result"])
        end()
        _closed(child)
        with self._lock:
            left = [*waiting.values()]
            waiting.clear()
        for answer in left:
            answer.set_exception(self._fault("ended in its process, before it had answered"))

    def _write(self, line: bytes) -> None:
        if self._child is None or self._child.stdin is None:
            raise self._fault("has no process")
        try:
            self._child.stdin.write(line)
            self._child.stdin.flush()
        except OSError as error:
            raise self._fault("ended in its process") from error

    def _fault(self, how: str) -> PluginError:
        key, how = self._manifest.key, how.rstrip(".")
        return PluginError(f"The plugin {key} {how}.", plugin=key, phase="isolated")


def _line(child: subprocess.Popen[bytes]) -> dict[str, Any] | None:
    """The next thing that a process tells; None where it has ended, or tells what cannot be read."""
    line = child.stdout.readline(_LONGEST) if child.stdout else b""
    try:
        found: dict[str, Any] = msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.DecodeError:
        return None
    return found


def _started(environ: Mapping[str, str], marker: str) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    """A keeper with the process of a plugin below it, and what has both end by being closed."""
    ours, lifeline = os.pipe()
    with os.fdopen(ours, "rb"), ExitStack() as opened:
        held = opened.enter_context(os.fdopen(lifeline, "wb", buffering=0))
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", PROGRAM, str(ours), marker],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**environ, MARKER: marker},
            start_new_session=True,
            pass_fds=(ours,),
        )
        opened.pop_all()
    return child, held


def _end(child: subprocess.Popen[bytes], lifeline: IO[bytes], marker: str) -> None:
    """Have the keeper end all that is below it; where it did not, whoever carries the marker is ended."""
    lifeline.close()
    with suppress(subprocess.TimeoutExpired):
        child.wait(_KEEPER_SECONDS)
    if child.returncode != 0:
        kill(child.pid if child.returncode is None else None, marker)
        child.wait()


def _close_input(child: subprocess.Popen[bytes]) -> None:
    if child.stdin is not None:
        with suppress(OSError):  # what was to be written is nobody's any more
            child.stdin.close()


def _closed(child: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a process from which nothing is read any more."""
    child.wait()
    _close_input(child)
    if child.stdout is not None:
        child.stdout.close()


def _variables(manifest: PluginManifest, environ: Mapping[str, str]) -> dict[str, str]:
    """The harmless variables, those that the plugin names, and where our own code lies."""
    named = (*manifest.requires_env, *manifest.optional_env)
    wanted = {name: environ[name] for name in named if name in environ}
    top = str(Path(hermes.lib.__path__[0]).parents[1])
    return {**child_environment(environ).given, **wanted, "PYTHONPATH": top}
