"""Prompts of MCP servers as slash commands: `/mcp__server__prompt arguments` sends what the server makes of
it.
"""

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import anyio

from hermes.commands.catalogue import SlashCommand
from hermes.commands.context import CommandContext, opened
from hermes.lib.text import strip_escapes
from hermes.lib.visible import visible
from hermes.mcp.names import tool_name
from hermes.models.transports.base import fenced
from hermes.types.error import HermesError, McpError
from hermes.types.message import ContextBlock

if TYPE_CHECKING:
    from hermes.mcp.prompts import McpPrompt
    from hermes.mcp.servers import McpServers

SECONDS: Final = 60.0
_MARK: Final = "mcp__"
_TOLD: Final = (
    "The user calls for /{word}. These are the words of the MCP server {server}, not of the user:\n\n{text}"
)
_SENT: Final = "Go by what the MCP server {server} gave for /{word}{typed}"
"""What the user's message says: what was typed, and no word that the server chose but the command itself."""


def is_prompt(word: str) -> bool:
    """Whether a command is meant as a prompt of a server."""
    return word.startswith(_MARK)


def prompt_commands(servers: "McpServers") -> list[SlashCommand]:
    """The prompts of the connected servers as commands."""
    return [
        SlashCommand(
            name=tool_name(server, one.name),
            category="Prompts of MCP servers",
            summary=" ".join(one.description.split()) or "no description",
            arguments=one.usage,
        )
        for server in servers.names
        for one in servers.prompts(server)
        if not one.fault
    ]


async def run_prompt(word: str, argument: str, talk: CommandContext) -> None:
    """Have the server fill the prompt in, show that, and send it; HermesError says what is missing."""
    session, servers = opened(talk), talk.runtime.mcp
    server = word.removeprefix(_MARK).partition("__")[0]
    found = await _prompt(servers, server, word)
    given = arguments_of(found, argument, word)
    text = ""
    with anyio.move_on_after(SECONDS):
        text = session.services.redactor.redact(await (await servers.calls(server)).filled(found.name, given))
    if not text:
        raise McpError(f"The MCP server {server} gave nothing for the prompt {found.name}.")
    shown = visible(strip_escapes(text))
    talk.tell(f"The MCP server {server} says:\n\n````text\n{shown.replace('````', '```')}\n````")
    session.mailbox.add_news(_block(server, word, shown))
    typed = f": {argument}" if argument else "."
    talk.queue(_SENT.format(server=server, word=word, typed=typed))


def _block(server: str, word: str, shown: str) -> ContextBlock:
    """What the model reads of a prompt: the same as the person sees, between marks."""
    source = f"the MCP server {server}"
    words = _TOLD.format(word=word, server=server, text=fenced(shown, source))
    return ContextBlock(kind="skill", text=words, source=f"mcp:{server}", outside=source)


def arguments_of(prompt: "McpPrompt", typed: str, word: str) -> dict[str, str]:
    """The arguments that were typed, each as `name=value` or in its place, the last one with all that is
    left; HermesError for those that are missing, too many or named as none is.
    """
    names, given, left = [one.name for one in prompt.arguments], dict[str, str](), list[str]()
    for one in _words(typed):
        name, sign, value = one.partition("=")
        if sign and name in names:
            given[name] = value
        elif sign and name.isidentifier():
            raise HermesError(
                f"/{word} takes {prompt.usage or 'no arguments'}, and no {name[:80]}.{_meant(names, one)}"
            )
        else:
            left.append(one)
    free = [name for name in names if name not in given]
    if left and not free:
        raise HermesError(f"/{word} takes {prompt.usage or 'no arguments'}; {left[0]!r} is too much.")
    given |= _placed(free, left)
    if missing := [one for one in prompt.arguments if one.required and not given.get(one.name)]:
        told = "; ".join(f"{one.name}: {one.description}" if one.description else one.name for one in missing)
        raise HermesError(f"/{word} {prompt.usage} still needs {told}")
    return given


def _meant(names: list[str], words: str) -> str:
    """How words that look like a named argument are given all the same."""
    return (
        f" If {words[:80]!r} is what {names[-1]} is to be, write {names[-1]}={words[:80]}." if names else ""
    )


def _placed(free: list[str], left: list[str]) -> Mapping[str, str]:
    """Words in the places of arguments; those that are left over belong to the last one."""
    if len(left) > len(free):
        left = [*left[: len(free) - 1], " ".join(left[len(free) - 1 :])]
    return dict(zip(free, left, strict=False))


def _words(typed: str) -> list[str]:
    try:
        return shlex.split(typed)
    except ValueError:  # a quote that is an apostrophe
        return typed.split()


async def _prompt(servers: "McpServers", server: str, word: str) -> "McpPrompt":
    with anyio.move_on_after(SECONDS):
        offer = await servers.connect(server)
        prompts = await (await servers.calls(server)).prompts() if offer.prompts else ()
        for one in prompts if servers.configured(server).tools.prompts else ():
            if tool_name(server, one.name).casefold() == word.casefold():
                if one.fault:
                    raise McpError(f"/{word} is held back: {one.fault}.")
                return one
        raise McpError(
            f"The MCP server {server} has no prompt for /{word}; /mcp {server} lists those it has."
        )
    raise McpError(f"The MCP server {server} does not answer.")
