"""Commands that only tell: help, keys, usage, status, tools, debug, doctor."""

from functools import partial
from itertools import groupby
from typing import Final

import anyio
from msgspec.structs import replace

from hermes.agent.activity import progress
from hermes.agent.fact_memory import SHARED
from hermes.agent.memory import described, described_fact
from hermes.agent.session import Session
from hermes.agent.speakers import viewer_of
from hermes.commands.catalogue import SlashCommand, commands, find
from hermes.commands.context import CommandContext, opened
from hermes.commands.others_words import code_words, plain_words
from hermes.commands.plugin_commands import plugin_commands
from hermes.commands.server_prompts import prompt_commands
from hermes.lib.lazy import import_object
from hermes.models.budget import Budget
from hermes.present.goals import goal_words
from hermes.present.permissions import permissions
from hermes.present.words import money, tokens
from hermes.safety.grants import write
from hermes.store.notes import FILES
from hermes.types.usage import Usage

LISTED: Final = 20
"""Facts of the memory provider that are listed, the last ones."""


async def help_(talk: CommandContext, argument: str) -> None:
    """All commands by theme, or one of them."""
    found = find(argument.removeprefix("/")) if argument else None
    if found:
        also = f" Also: {', '.join(f'/{name}' for name in found.aliases)}." if found.aliases else ""
        talk.tell(f"`{found.usage}`: {found.summary}.{also}")
        return
    parts = [
        _section(name, list(group))
        for name, group in groupby(commands(), key=lambda command: command.category)
    ]
    if added := plugin_commands(talk.session).values():
        own = [
            SlashCommand(
                name=one.name,
                category="Plugins",
                summary=f"{one.description or 'no description'} ({one.plugin})",
                arguments=one.arguments,
            )
            for one in added
        ]
        parts.append(_section("Plugins", own))
    if prompts := prompt_commands(talk.runtime.mcp) if talk.session else []:
        parts.append(_section(prompts[0].category, [_shown(one) for one in prompts]))
    talk.tell(
        "\n".join(parts)
        + "\n\n`/NAME` of a skill, before a message, brings the skill along."
        + "\n\n`?` on an empty line shows the keys. `!command` runs a command, `@` completes a file."
    )


def _shown(prompt: SlashCommand) -> SlashCommand:
    """A prompt whose words a server chose, as words."""
    return replace(
        prompt, summary=plain_words(prompt.summary), arguments=code_words(prompt.arguments).strip("`")
    )


def _section(name: str, group: list[SlashCommand]) -> str:
    rows = [f"- `{command.usage}`: {command.summary}" for command in group]
    return "\n".join([f"**{name}**", "", *rows, ""])


async def keys(talk: CommandContext, _argument: str) -> None:
    """The keys of the app."""
    talk.tell(talk.keys)


async def usage(talk: CommandContext, _argument: str) -> None:
    """Tokens and money of the last turn, of this session and of today, and the fill of its context."""
    session = opened(talk)
    today = (await talk.sessions.summary("day"))[-1:]
    rows = [
        ("last turn", session.last_turn),
        ("session", session.usage),
        *((one.what, one.usage) for one in today),
    ]
    talk.tell(
        "\n".join(f"- {name}: {_used(used)}" for name, used in rows)
        + f"\n- context: {_fill(session)}\n\n`hermes usage`"
        " tells of other days and models."
    )


def _fill(session: Session) -> str:
    """How much of the model's window is used, as far as that is known."""
    used, window = session.context_tokens, session.endpoint.known_window
    return f"{tokens(used)} of {tokens(window)} ({100 * used // window} %)" if window else tokens(used)


def _used(used: Usage) -> str:
    cached = f" ({tokens(used.cache_read)} from the cache)" if used.cache_read else ""
    reasoning = f" ({tokens(used.reasoning)} reasoning)" if used.reasoning else ""
    return (
        f"{tokens(used.input_tokens)} in{cached}, {tokens(used.output_tokens)} out{reasoning}, requests:"
        f" {used.requests}, {money(used)}"
    )


async def status(talk: CommandContext, _argument: str) -> None:
    """The facts of this session and what it does now, also while a turn runs."""
    session = opened(talk)
    endpoint, activity = session.endpoint, session.activity.now
    address = f" at {endpoint.base_url}" if endpoint.base_url else ""
    processes = [one for one in session.workspace.processes.list() if one.code is None]
    children = sum(1 for _ in session.children.tree())
    rows = {
        "session": f"`{session.id}`{f' · {session.title}' if session.title else ''}",
        "now": progress(activity, session.services.ports.monotonic()),
        "this turn" if session.busy else "last turn": (
            f"steps: {activity.step}, requests: {activity.requests}, calls: {activity.calls}"
        ),
        "model": f"{endpoint.model} ({endpoint.provider}{address})",
        "context": _fill(session),
        "directory": f"`{session.workspace.cwd}`",
        "protection": talk.protection,
        "log": f"turns: {session.turns}, messages: {len(session.log)}, tools: {len(session.tools.tools)}",
        "goal": goal_words(session.goal) if session.goal else "",
        "kept word for word": f"{len(session.pins)} (`/pin`)" if session.pins else "",
        "children at work": f"{children} (`/agents`)" if children else "",
        "in the background": ", ".join(f"`{one.command}`" for one in processes),
        "budget left": _left(session.limits.budget),
    }
    talk.tell("\n".join(f"- {name}: {told}" for name, told in rows.items() if told))


def _left(budget: Budget) -> str:
    """What the running turn, the session and the day may still spend, where that is limited."""
    told = []
    for one in budget.chain():
        limits = one.limits
        left = [f"{tokens(max(0, limits.tokens - one.tokens))} tokens"] if limits.tokens else []
        left += [f"${max(0.0, limits.cost - one.cost):.4f}"] if limits.cost else []
        told += [f"{one.name} {' and '.join(left)}"] if left else []
    return ", ".join(told)


async def tools(talk: CommandContext, _argument: str) -> None:
    """The tools of this session by toolset."""
    found = opened(talk).tools
    entries = sorted(
        (entry for name, entry in found.tools.items() if name in found.offered),
        key=lambda entry: (entry.toolset, entry.name),
    )
    rows: list[str] = []
    for toolset, group in groupby(entries, key=lambda entry: entry.toolset):
        rows += [
            f"**{toolset}**",
            "",
            *(f"- `{entry.name}`: {_first_sentence(entry.description)}" for entry in group),
            "",
        ]
    talk.tell("\n".join(rows).strip() or "This session has no tools.")


async def show_permissions(talk: CommandContext, _argument: str) -> None:
    """What this session may do, the answers that hold, and what it has read from outside."""
    session = opened(talk)
    gate = session.environment.gate
    rows = [f"- {name}: {text}" for name, text in permissions(gate.policy, attended=session.spec.attended)]
    held = [*map(write, gate.grants.session), *gate.policy.allowlist]
    rows += [f"- answered yes: `{one}`" for one in held]
    rows += [
        f"- read from outside: {one.name}; what reaches beyond the workspace asks anew" for one in gate.read()
    ]
    talk.tell("\n".join(rows))


def _first_sentence(text: str) -> str:
    sentence = " ".join(text.split()).partition(". ")[0]
    return sentence if len(sentence) < 90 else f"{sentence[:89]}…"  # one line of a wide screen


async def debug(talk: CommandContext, _argument: str) -> None:
    """The last failure, field by field."""
    failure = talk.failure
    if failure is None:
        talk.tell("Nothing has failed in this session.")
        return
    told = {
        "reason": failure.reason, "status": failure.status, "address": failure.address,
        "may pass": failure.retryable, "reset at": failure.reset_at,
    }  # fmt: skip
    rows = [f"- {name}: `{value}`" for name, value in told.items() if value not in {None, ""}]
    talk.tell("\n".join([*rows, "", "```", failure.message, "```"]))


async def doctor(talk: CommandContext, _argument: str) -> None:
    """What works in this installation and what does not; it looks in a thread, for that takes a while."""
    talk.notice("Looking at this installation …")
    asked = talk.options
    examine = import_object("hermes.commands.installation:examine")
    look = partial(examine, talk.profile, model=asked.model, base_url=asked.base_url)
    talk.report(await anyio.to_thread.run_sync(lambda: list(look()), abandon_on_cancel=True))


async def memory(talk: CommandContext, _argument: str) -> None:
    """What later sessions are told, each note with where it comes from."""
    notes = opened(talk).services.memory
    lines: list[str] = []
    for target, file in FILES.items():
        lines += [f"**{file}** ({notes.used(target)} of {notes.limits[target]} tokens)", ""]
        lines += [f"- {described(one)}" for one in notes.read(target)] or ["- nothing yet"]
        lines.append("")
    lines += await _facts(opened(talk))
    talk.tell(
        "\n".join([*lines, f"Files to edit: {notes.folder}; a change counts from the next session on."])
    )


async def _facts(session: Session) -> list[str]:
    """What the memory provider keeps for whoever asks."""
    if not session.services.recall.name:
        return []
    if (await viewer_of(session)).alone is None:
        return [f"**Facts of {session.services.recall.name}**", "", SHARED, ""]
    facts = await session.services.recall.noted(session)
    head = f"**Facts of {session.services.recall.name}** ({len(facts)}, told when they fit a message)"
    earlier = (
        [f"- and {len(facts) - LISTED} earlier ones: `hermes memory show`"] if len(facts) > LISTED else []
    )
    rows = [f"- {described_fact(one)}" for one in facts[-LISTED:]]
    return [
        head,
        "",
        *(earlier + rows or ["- nothing yet"]),
        "",
        "`hermes memory forget ID` forgets one.",
        "",
    ]
