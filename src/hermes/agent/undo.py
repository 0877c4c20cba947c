"""Save what a command could lose before it runs, where that makes a question needless."""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import anyio.to_thread
from msgspec import Struct

from hermes.safety.commands.paths import is_disposable, is_within
from hermes.safety.settings import CheckpointSettings
from hermes.store.checkpoints import Checkpoint, Checkpoints, Limits
from hermes.types.action import Command
from hermes.types.ports import Ports

FOLDER: Final = "checkpoints"
_MB: Final = 1024 * 1024
_DAY: Final = 86_400.0


def checkpoints_of(hermes_home: Path, settings: CheckpointSettings) -> Checkpoints:
    """The checkpoints of a home, with the limits that are set."""
    limits = Limits(
        one=settings.max_megabytes * _MB, all=settings.keep_megabytes * _MB, age=settings.keep_days * _DAY
    )
    return Checkpoints(hermes_home / FOLDER, limits)


class SaveFirst(Struct):
    """Saves paths before a command of one session runs."""

    checkpoints: Checkpoints
    ports: Ports
    session: str

    async def __call__(self, action: Command, paths: Sequence[str], workspace: str) -> Checkpoint | None:
        """What was saved, without paths when nothing is there; None where it could not be."""
        about = Checkpoint(
            id=self.ports.token(),
            at=self.ports.now(),
            command=action.command,
            cwd=action.cwd,
            session=self.session,
            paths=tuple(dict.fromkeys(one for path in paths for one in _real(path, workspace))),
        )
        save = partial(self.checkpoints.save, about, disposable=is_disposable)
        return await anyio.to_thread.run_sync(save)


def _real(path: str, workspace: str) -> Sequence[str]:
    """A path, and where it leads in the workspace; elsewhere the sandbox lets nothing be lost."""
    real = os.path.realpath(path)
    return (path, real) if is_within(real, workspace) else (path,)
