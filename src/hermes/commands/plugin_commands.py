"""Slash commands of plugins: each runs by itself, for a bounded time, and what it gives is shown."""

import inspect
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio

from hermes.commands.catalogue import names
from hermes.commands.context import CommandContext
from hermes.lib.aio import in_tool_thread, is_cancellation
from hermes.lib.error_words import error_words
from hermes.types.ctrl_c import is_ctrl_c
from hermes.types.error import PluginError

if TYPE_CHECKING:
    from hermes.agent.extensions import PluginCommand
    from hermes.agent.session import Session

SECONDS: Final = 30.0


def plugin_commands(session: "Session | None") -> "dict[str, PluginCommand]":
    """The commands of a session's plugins by name, but for those that have the name of one of ours."""
    every = session.services.extensions.commands if session else {}
    return {name: one for name, one in every.items() if name not in names()}


async def run_of_plugin(command: "PluginCommand", argument: str, talk: CommandContext) -> None:
    """Run it, and show what it gives; PluginError where it fails, or takes too long."""
    call = partial(command.handler, argument)
    answer: object = None
    try:
        with anyio.fail_after(SECONDS):
            is_async = inspect.iscoroutinefunction(command.handler)
            answer = await (call() if is_async else in_tool_thread(call))
            answer = await answer if inspect.isawaitable(answer) else answer
    except TimeoutError as error:
        raise _failed(command, f"did not end within {SECONDS:g} seconds") from error
    except BaseException as error:
        if is_ctrl_c(error) or await is_cancellation(error):
            raise
        raise _failed(command, f"failed: {error_words(error)}") from error
    if answer:
        talk.tell(str(answer))


def _failed(command: "PluginCommand", how: str) -> PluginError:
    words = f"/{command.name} of the plugin {command.plugin} {how}."
    return PluginError(words, plugin=command.plugin, phase="command")
