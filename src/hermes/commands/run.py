"""From a typed line to a command: find it, run it, say what is wrong in one sentence."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from hermes.agent.skills import called_for
from hermes.commands import (
    agents,
    branches,
    context_room,
    files,
    goals,
    info,
    model,
    plan,
    processes,
    servers,
    session,
    skills,
    trust,
)
from hermes.commands.catalogue import find, names
from hermes.commands.context import CommandContext
from hermes.commands.plugin_commands import plugin_commands, run_of_plugin
from hermes.commands.server_prompts import is_prompt, run_prompt
from hermes.lib.nearest import nearest
from hermes.types.error import HermesError

if TYPE_CHECKING:
    from hermes.agent.session import Session

Handler = Callable[[CommandContext, str], Awaitable[None]]

HANDLERS: Mapping[str, Handler] = {
    "help": info.help_,
    "keys": info.keys,
    "usage": info.usage,
    "status": info.status,
    "tools": info.tools,
    "mcp": servers.mcp,
    "reload-mcp": servers.reload_mcp,
    "permissions": info.show_permissions,
    "debug": info.debug,
    "doctor": info.doctor,
    "new": session.new,
    "resume": session.resume,
    "continue": session.continue_,
    "title": session.title,
    "undo": files.undo,
    "retry": files.retry,
    "diff": files.diff,
    "rollback": files.rollback,
    "branch": branches.branch,
    "rewind": branches.rewind,
    "branches": branches.branches,
    "compress": context_room.compress,
    "expand": context_room.expand,
    "pin": context_room.pin,
    "unpin": context_room.unpin,
    "memory": info.memory,
    "skills": skills.skills,
    "history": session.history,
    "goal": goals.goal,
    "steer": session.steer,
    "queue": session.queue,
    "stop": session.stop,
    "agents": agents.agents,
    "plan": plan.plan,
    "edits": plan.edits,
    "trust": trust.trust,
    "ps": processes.ps,
    "quit": session.leave,
    "model": model.model,
}


def is_command(text: str, session: "Session | None" = None) -> bool:
    """Whether a sent text is meant as a command: `/word`, not a path such as /etc/hosts, and not a message
    that calls for a skill of the session's home.
    """
    word = text.split(maxsplit=1)[0] if text.strip() else ""
    if not word.startswith("/") or len(word) == 1 or "/" in word[1:]:
        return False
    if session is None or word[1:].lower() in names():
        return True
    return not called_for(text.strip(), session.services.skills)


def unasked(text: str, session: "Session") -> str:
    """Why a question may not be the command of ours that it would be: it changes what is kept, and a script
    may pass on what others wrote; "" where it may.
    """
    word, _, argument = text.strip().removeprefix("/").partition(" ")
    command = None if word.lower() in plugin_commands(session) or is_prompt(word) else find(word)
    if command is None or command.asked == "always" or (command.asked == "alone" and not argument.strip()):
        return ""
    what = f"/{command.name} with arguments" if command.asked == "alone" else f"/{command.name}"
    return f"{what} is not taken from a question, for it changes what is kept; {command.instead}."


def kept(text: str) -> str:
    """What the screen and the history may keep of a typed line: everything but the key of a /model
    command.
    """
    word, _, argument = text.strip().removeprefix("/").partition(" ")
    command = find(word) if is_command(text) else None
    return (
        f"/{word} {model.without_key(argument)}" if argument and command and command.name == "model" else text
    )


async def run_command(text: str, talk: CommandContext) -> None:
    """Run `/name arguments`; every fault ends as one sentence to the person."""
    word, _, argument = text.strip().removeprefix("/").partition(" ")
    added = plugin_commands(talk.session)
    if of_plugin := added.get(word.lower()):
        await guarded(talk, run_of_plugin(of_plugin, argument.strip(), talk))
        return
    if is_prompt(word):
        await guarded(talk, run_prompt(word, argument.strip(), talk))
        return
    command = find(word)
    if command is None:
        near = nearest(word, [*names(), *added, *_skills(talk)])
        talk.warn(
            f"There is no command /{word}. " + (f"Did you mean /{near[0]}?" if near else "/help lists them.")
        )
        return
    await guarded(talk, HANDLERS[command.name](talk, argument.strip()))


def _skills(talk: CommandContext) -> list[str]:
    return [one.name for one in talk.session.services.skills.skills()] if talk.session else []


async def guarded(talk: CommandContext, work: Awaitable[None]) -> None:
    """Do something for a person; a fault ends as one sentence."""
    try:
        await work
    except HermesError as error:
        talk.warn(str(error))
