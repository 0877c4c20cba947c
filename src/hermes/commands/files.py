"""Commands on what turns did to files, and to the conversation: diff, rollback, undo, retry."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from hermes.agent.delegation.changed_files import FileCalls
from hermes.agent.log import first_turns
from hermes.agent.turn_files import NothingChanged
from hermes.commands.context import CommandContext, idle, opened
from hermes.lib.visible import one_line
from hermes.present.rollback import planned, told
from hermes.types.error import HermesError

if TYPE_CHECKING:
    from hermes.agent.session import Session
    from hermes.agent.turn_files import SavedTurn, TurnFiles
    from hermes.store.rollback import RolledBack
    from hermes.store.rollback_plan import RollbackPlan

_PAGE: Final = 200
_NONE: Final = (
    "Files are not saved before turns here: that is switched off (checkpoints.turns), or commands run on"
    " another machine."
)
_RUNS: Final = "In the background still runs {}: it may change files again. `/stop` ends it."
_GO_ON: Final = (
    "Children in the background still work ({}): they may change files again. `/agents stop all` ends them."
)
_STANDS: Final = (
    "The model has forgotten {that}; what {it} did to files stands. `hermes checkpoints list` shows what"
    " was saved before."
)
_NO_TURN: Final = "No turn of this session has changed files."
_NONE_CHANGED: Final = "No file is known to have changed in {that}."
_UNCHANGED: Final = "The model has forgotten {that}; no file is known to have changed then."
_OUTSIDE: Final = (
    "Nothing goes back: what was changed in {that} is outside the workspace ({paths}), where nothing is"
    " saved."
)
_STAYING: Final = (
    "The model has forgotten {that}. Outside the workspace, where nothing is saved, {it} changed {paths};"
    " that stays."
)
_ELSEWHERE: Final = (
    "A turn that this branch began with has changed files; `/rollback {}` says where they are brought back."
    "\n\n- `/undo{} conversation`: the model forgets the turn here; files stay"
)
_BOTH: Final = "The model has forgotten {that}, and {its} files are as they were before."
_STAYS: Final = (
    "Nothing of {that} was taken back, for none of {its} files went back. `/undo{number} both force` takes"
    " back all that is named above; `/undo{number} conversation` has the model forget {that}, and files stay."
)
_LEFT: Final = "The model has forgotten {that}; what was left of {its} files is named above."


class UndoArgs(Struct, frozen=True):
    """How many turns to take back, and what of them ("" where that was not said); with `force` also what
    others may have changed.
    """

    turns: int = 1
    what: str = ""
    force: bool = False


async def diff(talk: CommandContext, argument: str) -> None:
    """Show what has changed in the workspace since before a turn, or the last one that changed it."""
    idle(talk)
    files = _files(talk)
    words = argument.split()
    if not all(word.isdecimal() for word in words) or len(words) > 2:  # a turn and a page
        raise HermesError("/diff takes the number of a turn, and of a page: /diff 3, /diff 3 2.")
    saved = await files.saved_turns()
    turns = [int(words[0])] if words else [one.number for one in saved][-1:]
    if not turns:
        talk.tell(_NO_TURN)
        return
    page = int(words[1]) if words[1:] else 1
    try:
        lines = await files.diff(turns[0], first=(page - 1) * _PAGE, most=_PAGE + 1)
    except NothingChanged as nothing:
        talk.tell(str(nothing))
        return
    if not lines:
        talk.tell(f"Nothing differs from before turn {turns[0]}.")
        return
    text = "\n".join(lines[:_PAGE])
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 0)
    more = f"\n\n`/diff {turns[0]} {page + 1}` shows more." if len(lines) > _PAGE else ""
    whose = next((_whose(talk, one) for one in saved if one.number >= turns[0]), "")
    talk.tell(f"Since before turn {turns[0]}{whose}:\n\n{fence}diff\n{text}\n{fence}{more}")


async def rollback(talk: CommandContext, argument: str) -> None:
    """Bring files back to before a turn, and leave the conversation; list the turns without a number."""
    idle(talk)
    files = _files(talk)
    found = re.fullmatch(r"(\d{1,9})(?:\s+(?:--)?(force))?", argument)
    if not argument:
        saved = await files.saved_turns()
        rows = [f"- before turn {one.number}{_whose(talk, one)}: {one.words}" for one in saved]
        how = "`/rollback N` brings the files back to before turn N, `/diff N` shows what changed since."
        talk.tell("\n".join([*rows, "", how]) if rows else _NO_TURN)
        _warn_of_work(talk)
        return
    if found is None:
        raise HermesError("/rollback takes the number of a turn: /rollback 3, or /rollback 3 force.")
    done = await files.roll_back(int(found[1]), force=bool(found[2]), typed=f"/rollback {argument}")
    talk.tell(told(done, f"`/rollback {found[1]} force`", _outside(opened(talk), int(found[1]))))
    _warn_of_work(talk)


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
    outside = _outside(session, first)
    saved = await files.saved_turns() if files is not None else []
    changed = any(one.number >= first for one in saved)
    if not wish.what and files is not None and changed:
        if any(one.number >= first and one.session != session.id for one in saved):
            talk.tell(_ELSEWHERE.format(first, _times(wish.turns)))
            return
        plan = await files.plan(first)
        if planned(plan):
            talk.tell(_choices(plan, outside, wish.turns))
            _warn_of_work(talk)
            return
    done = None
    if wish.what in {"files", "both"} and changed:
        done = await _bring_back(talk, first, wish)
        if _stays(done, wish):
            talk.tell(_of_turns(_STAYS, wish.turns))
            return
    elif wish.what in {"files", "both"}:
        _files(talk)
    if wish.what != "files":
        dropped = await drop(talk, wish.turns)
        talk.tell(_of_turns(_end(done, outside, stands=changed or files is None), wish.turns, outside))
        talk.edit(dropped)
    elif done is None:
        talk.tell(_of_turns(_OUTSIDE if outside else _NONE_CHANGED, wish.turns, outside))


def _end(done: "RolledBack | None", outside: Sequence[str], *, stands: bool) -> str:
    """What is said of the files of turns that are forgotten, where some are outside the workspace, or where
    nothing was brought back and what was done to them stands.
    """
    if done is not None:
        return _BOTH if done.is_whole and not outside else _LEFT
    return _STANDS if stands else _STAYING if outside else _UNCHANGED


async def _bring_back(talk: CommandContext, turn: int, wish: UndoArgs) -> "RolledBack":
    """Bring files back to before a turn, and say what came of it. Where the turn is forgotten then, only its
    checkpoint names it.
    """
    typed = f"/undo{_times(wish.turns)} {wish.what}{' force' * wish.force}"
    done = await _files(talk).roll_back(turn, force=wish.force, typed=typed)
    again = (
        f"/undo{_times(wish.turns)} {wish.what} force"
        if wish.what == "files" or _stays(done, wish)
        else f"hermes checkpoints restore {done.undo.restores} --force"
    )
    talk.tell(told(done, f"`{again}`", _outside(opened(talk), turn)))
    _warn_of_work(talk)
    return done


def _stays(done: "RolledBack", wish: UndoArgs) -> bool:
    """Whether a turn is not forgotten, for that would leave what it did to files without a name."""
    return wish.what == "both" and done.is_nothing and not (done.is_whole or wish.force)


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


def _warn_of_work(talk: CommandContext) -> None:
    """Name what goes on in the background, for it may change files once more."""
    running = [one for one in opened(talk).workspace.processes.list() if one.code is None]
    if running:
        names = ", ".join(f"`{one_line(one.command)}`" for one in running)
        talk.tell(_RUNS.format(names))
    children = [one.standing for _, one in opened(talk).children.tree()]
    if children:
        talk.tell(_GO_ON.format(", ".join(f"`{one_line(one.goal)}`" for one in children)))


def _files(talk: CommandContext) -> "TurnFiles":
    found = opened(talk).environment.turn_files
    if found is None:
        raise HermesError(_NONE)
    return found


def _whose(talk: CommandContext, turn: "SavedTurn") -> str:
    """In which session a turn was taken, where that is not this one."""
    return f" (taken in {turn.session})" if turn.session != opened(talk).id else ""


def _undo_args(argument: str) -> UndoArgs:
    found = re.fullmatch(r"(\d{1,9})?\s*(?:(conversation)|(files|both)(?:\s+(?:--)?(force))?)?", argument)
    if found is None or found[1] == "0":
        raise HermesError(
            f"{argument!r} is not what /undo takes: a number of turns, and conversation, files or both, the"
            " last two also with force."
        )
    return UndoArgs(int(found[1] or 1), found[2] or found[3] or "", bool(found[4]))


def _times(turns: int) -> str:
    return f" {turns}" if turns > 1 else ""


def _of_turns(sentence: str, turns: int, paths: Sequence[str] = ()) -> str:
    """A sentence about the turns that are taken back, be it one or several, and files that they changed."""
    that, it, its = ("that turn", "it", "its") if turns == 1 else (f"those {turns} turns", "they", "their")
    named = ", ".join(f"`{one_line(path)}`" for path in paths)
    return sentence.format(that=that, it=it, its=its, number=_times(turns), paths=named)


def _outside(session: "Session", turn: int) -> list[str]:
    """The files outside the workspace that file tools have written from a turn on; nothing brings them
    back.
    """
    log = session.log[len(first_turns(session.log, max(0, turn - 1))) :]
    workspace = session.spec.cwd.resolve()
    paths = FileCalls(log, session.tools.tools, str(workspace)).changed
    return [path for path in paths if not Path(path).is_relative_to(workspace)]


def _choices(plan: "RollbackPlan", outside: list[str], turns: int) -> str:
    number, which = _times(turns), "the turn" if turns == 1 else f"the {turns} turns"
    force = "\n\nWith `force` behind `both` or `files` what others may have changed goes back, too."
    count = f"\n\nWithout the {turns} only the last turn is taken back."
    return (
        f"Files were changed. Taking that back would do this:\n\n{planned(plan, outside)}\n\n"
        f"- `/undo{number} both`: files, and the model forgets {which}\n"
        f"- `/undo{number} files`: files; the conversation stays\n"
        f"- `/undo{number} conversation`: the model forgets {which}; files stay"
        f"{count if turns > 1 else ''}{force if plan.changed else ''}"
    )
