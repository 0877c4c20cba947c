"""Save what a command could lose before it runs, where that makes a question needless."""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import anyio.to_thread
from msgspec import Struct

from hermes.config.sensitive import lies_at_home, sensitive
from hermes.lib.visible import visible
from hermes.safety.commands.paths import is_disposable
from hermes.safety.settings import CheckpointSettings
from hermes.store.checkpoints import Checkpoint, CheckpointLimits, CheckpointStore
from hermes.store.guarded import Guarded
from hermes.types.action import Command
from hermes.types.ports import Ports

FOLDER: Final = "checkpoints"
_MB: Final = 1024 * 1024
_DAY: Final = 86_400.0


def checkpoints_of(hermes_home: Path, settings: CheckpointSettings, user_home: Path) -> CheckpointStore:
    """The checkpoints of a home, with the limits that are set; what is sensitive in the user's home stays
    out of them.
    """
    limits = CheckpointLimits(
        one=settings.max_megabytes * _MB,
        file=settings.max_file_megabytes * _MB,
        all=settings.keep_megabytes * _MB,
        turns=settings.max_turns,
        age=settings.keep_days * _DAY,
    )
    home = os.path.realpath(user_home)
    guarded = Guarded(
        hidden=lambda path: lies_at_home(path, sensitive().secrets, home),
        starts=lambda path: lies_at_home(path, sensitive().starts, home),
    )
    return CheckpointStore(hermes_home / FOLDER, limits, guarded)


class SaveFirst(Struct):
    """Saves paths before a command of one session runs."""

    checkpoints: CheckpointStore
    ports: Ports
    session: str

    async def __call__(self, action: Command, paths: Sequence[str], workspace: str) -> Checkpoint | None:
        """What was saved, without paths when nothing is there; None where it could not be."""
        about = Checkpoint(
            id=self.ports.token(),
            at=self.ports.now(),
            command=visible(action.command),
            cwd=action.cwd,
            session=self.session,
            workspace=workspace,
            paths=as_named(paths, workspace),
        )
        save = partial(self.checkpoints.save, about, disposable=is_disposable)
        return await anyio.to_thread.run_sync(save)


def as_named(paths: Sequence[str], workspace: str) -> tuple[str, ...]:
    """The paths; all of the workspace where one of them has a link among its parts, for where it leads when
    the command runs is not known.
    """
    return tuple(paths) if all(os.path.realpath(path) == path for path in paths) else (workspace,)
