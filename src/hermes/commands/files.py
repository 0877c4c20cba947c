"""Commands on what turns did to files, and to the conversation: diff, rollback, undo, retry."""

import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from hermes.commands.context import CommandContext, idle, opened
from hermes.present.rollback import planned, told
from hermes.store.tree_diff import one_line
from hermes.types.error import HermesError

if TYPE_CHECKING:
    from hermes.agent.turn_files import TurnFiles

_PAGE: Final = 200
_NONE: Final = (
    "Files are not saved before turns here: that is switched off (checkpoints.turns), or commands run on"
    " another machine."
)
_RUNS: Final = "In the background still runs {}: it may change files again. `/stop` ends it."
_STANDS: Final = (
    "The model has forgotten that turn; what it did to files stands. `hermes checkpoints list` shows what"
    " was saved before."
)
_BOTH: Final = "The model has forgotten that turn, and its files are as they were before."


class UndoArgs(Struct, frozen=True):
    """How many turns to take back, and what of them; "" where that was not said."""

    turns: int = 1
    what: str = ""


async def diff(talk: CommandContext, argument: str) -> None:
    """Show what has changed in the workspace since before a turn, or the last one that changed it."""
    idle(talk)
    files = _files(talk)
    words = argument.split()
    if not all(word.isdecimal() for word in words) or len(words) > 2:  # a turn and a page
        raise HermesError("/diff takes the number of a turn, and of a page: /diff 3, /diff 3 2.")
    turns = [int(words[0])] if words else [number for number, _ in await files.saved_turns()][-1:]
    if not turns:
        raise HermesError("No turn of this session has changed files.")
    page = int(words[1]) if words[1:] else 1
    lines = await files.diff(turns[0], first=(page - 1) * _PAGE, most=_PAGE + 1)
    if not lines:
        talk.tell(f"Nothing differs from before turn {turns[0]}.")
        return
    text = "\n".join(lines[:_PAGE])
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 0)
    more = f"\n\n`/diff {turns[0]} {page + 1}` shows more." if len(lines) > _PAGE else ""
    talk.tell(f"Since before turn {turns[0]}:\n\n{fence}diff\n{text}\n{fence}{more}")


async def rollback(talk: CommandContext, argument: str) -> None:
    """Bring files back to before a turn, and leave the conversation; list the turns without a number."""
    idle(talk)
    files = _files(talk)
    found = re.fullmatch(r"(\d{1,9})(?:\s+(?:--)?(force))?", argument)
    if not argument:
        rows = [f"- before turn {number}: {words}" for number, words in await files.saved_turns()]
        how = "`/rollback N` brings the files back to before turn N, `/diff N` shows what changed since."
        talk.tell("\n".join([*rows, "", how]) if rows else "No turn of this session has changed files.")
        return
    if found is None:
        raise HermesError("/rollback takes the number of a turn: /rollback 3, or /rollback 3 force.")
    done = await files.roll_back(int(found[1]), force=bool(found[2]))
    talk.tell(told(done, f"`/rollback {found[1]} force`"))
    _warn_of_processes(talk)


async def undo(talk: CommandContext, argument: str) -> None:
    """Take back the last turns: the conversation, files, or both. Where files have changed and nothing was
    chosen, say what each would do and change nothing.
    """
    idle(talk)
    session, wish = opened(talk), _undo_args(argument)
    first = session.turns - wish.turns + 1
    if session.turns and first < 1:
        raise HermesError(f"This session has {session.turns} turns; there are not {wish.turns} to take back.")
    files = session.environment.turn_files
    saved = await files.saved_turns() if files is not None else []
    changed = any(number >= first for number, _ in saved)
    if not wish.what and files is not None and changed:
        plan = planned(await files.plan(first))
        if plan:
            talk.tell(_choices(plan, wish.turns))
            return
    if wish.what in {"files", "both"} and changed:
        done = await _files(talk).roll_back(first, force=False)
        talk.tell(told(done, f"`/rollback {first} force`"))
        _warn_of_processes(talk)
    elif wish.what in {"files", "both"}:
        _files(talk)
        talk.tell("That turn has changed no files.")
    if wish.what != "files":
        dropped = await drop(talk, wish.turns)
        talk.tell(_BOTH if wish.what == "both" else _STANDS)
        talk.edit(dropped)


async def retry(talk: CommandContext, _argument: str) -> None:
    """Drop the last turn and send its message again; files stay as they are."""
    idle(talk)
    talk.send(await drop(talk, 1))


async def drop(talk: CommandContext, turns: int) -> str:
    """Take turns out of the conversation; what was said first in them."""
    dropped = await opened(talk).undo(turns)
    if not dropped:
        raise HermesError("There is no turn to take back.")
    return dropped


def _warn_of_processes(talk: CommandContext) -> None:
    """Name what runs in the background, for it may change files once more."""
    running = [one for one in opened(talk).workspace.processes.list() if one.code is None]
    if running:
        names = ", ".join(f"`{one_line(one.command)}`" for one in running)
        talk.tell(_RUNS.format(names))


def _files(talk: CommandContext) -> "TurnFiles":
    found = opened(talk).environment.turn_files
    if found is None:
        raise HermesError(_NONE)
    return found


def _undo_args(argument: str) -> UndoArgs:
    found = re.fullmatch(r"(\d{1,9})?\s*(conversation|files|both)?", argument)
    if found is None or found[1] == "0":
        raise HermesError(
            f"{argument!r} is not what /undo takes: a number of turns, and conversation, files or both."
        )
    return UndoArgs(int(found[1] or 1), found[2] or "")


def _choices(plan: str, turns: int) -> str:
    number = f" {turns}" if turns > 1 else ""
    return (
        f"Files have changed since. Taking that back would do this:\n\n{plan}\n\n"
        f"- `/undo{number} both`: files, and the model forgets the turn\n"
        f"- `/undo{number} files`: files; the conversation stays\n"
        f"- `/undo{number} conversation`: the model forgets the turn; files stay"
    )
