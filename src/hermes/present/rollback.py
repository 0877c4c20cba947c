"""What going back to before a turn does to files, and what it did, in Markdown."""

from collections.abc import Iterator, Sequence
from typing import Final

from hermes.lib.visible import one_line
from hermes.store.rollback import RolledBack
from hermes.store.rollback_plan import RollbackPlan

_SHOWN: Final = 20
_MADE_WAY: Final = "could not be saved and made way: it is `{}` now"
_OUTSIDE: Final = "it is outside the workspace, which alone is saved"
_BY_OTHERS: Final = "it was changed since, by you (a `!command` counts) or another program"
_DOUBTFUL: Final = "it changed between turns while a child worked, perhaps by you"
_NAMED_AGAIN: Final = "has its name again: it was `{}`"


def planned(plan: RollbackPlan, outside: Sequence[str] = ()) -> str:
    """A plan, as a list of what would happen to which file; "" where nothing would. `outside` are files
    outside the workspace that were changed, too.
    """
    rows = [
        ("makes way: it cannot be saved, and gets another name", plan.aside),
        *_apart("goes back to what it was", plan.write, plan),
        *_apart("is removed, for it was not there", plan.remove, plan),
        (f"stays: {_BY_OTHERS}", _by_others(plan)),
        ("stays: a turn was cut off, and nobody knows whether it changed it", plan.unknown),
        ("stays: it is not among what is saved", plan.unsaved),
        (f"stays: {_OUTSIDE}", outside),
    ]
    return "\n".join(line for words, paths in rows for line in _listed(words, paths))


def told(done: RolledBack, forced: str, outside: Sequence[str] = ()) -> str:
    """What was done; `forced` is how to have others' changes go back, too, `outside` are files outside the
    workspace that were changed.
    """
    plan = done.plan
    rows = [
        *(line for part in _apart("is as it was", done.written, plan) for line in _listed(*part)),
        *(line for part in _apart("is removed", done.removed, plan) for line in _listed(*part)),
        *(line for path, name in done.aside for line in _listed(_MADE_WAY.format(one_line(name)), [path])),
        *(line for path, name in done.back for line in _listed(_NAMED_AGAIN.format(one_line(name)), [path])),
        *(line for path, why in done.failed for line in _listed(f"is not as it was: {why}", [path])),
        *_listed(
            f"was left: {_BY_OTHERS} ({forced} takes it back, too)",
            _by_others(plan),
        ),
        *_listed(
            f"was left: a turn was cut off, and nobody knows whether it changed it ({forced} takes it back)",
            plan.unknown,
        ),
        *_listed("was left: it is not among what is saved", plan.unsaved),
        *_listed("was left: it would run something", done.kept_back),
        *_listed(f"was left: {_OUTSIDE}", outside),
    ]
    if done.is_nothing:
        return "\n".join([*rows, "", "Nothing was changed."]).lstrip()
    return "\n".join([*rows, "", f"`hermes checkpoints restore {done.undo.id}` takes this back."])


def _apart(words: str, paths: Sequence[str], plan: RollbackPlan) -> Iterator[tuple[str, list[str]]]:
    """Paths in two lists: those that turns have changed, and those of which that is not known."""
    yield words, [path for path in paths if path not in plan.doubtful]
    yield f"{words} ({_DOUBTFUL})", [path for path in paths if path in plan.doubtful]


def _by_others(plan: RollbackPlan) -> list[str]:
    return [path for path in plan.changed if path not in plan.unknown]


def _listed(words: str, paths: Sequence[str]) -> Iterator[str]:
    for path in paths[:_SHOWN]:
        yield f"- `{one_line(path)}` {words}"
    if len(paths) > _SHOWN:
        yield f"- and {len(paths) - _SHOWN} more: {words}"
