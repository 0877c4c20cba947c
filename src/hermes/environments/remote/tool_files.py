"""The way to a program on a machine elsewhere: files in a folder there.

A request is a file `request-NAME`, its answer `answer-NAME`; both are put in place by renaming.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final

import anyio

from hermes.environments.remote.environment import RemoteEnvironment
from hermes.environments.tool_channel import EMPTY, LONGEST_REQUEST, MODULE
from hermes.lib.aio import background
from hermes.types.error import ExecError
from hermes.types.workspace import AnswerRequest

_WAIT_SECONDS: Final = 30
_MAKE: Final = (
    'umask 077; folder=$(mktemp -d "$1-XXXXXX") &&'
    f' mkdir "$folder/{EMPTY}" && cat >"$folder/{MODULE}" && printf %s "$folder"'
)
_TAKE: Final = f"""
cd -- "$1" || exit 1
for ((turn = 0; turn < {_WAIT_SECONDS * 20}; turn++)); do
  for path in request-*; do
    [ -f "$path" ] && [ ! -L "$path" ] || continue
    if [ "$(stat -c %s -- "$path")" -le {LONGEST_REQUEST} ]; then printf '%s\\0' "${{path#request-}}"; cat -- "$path"; fi
    rm -f -- "$path"; exit 0
  done
  sleep 0.05
done
"""  # noqa: E501
_PUT: Final = 'cd -- "$1" && cat >"part-$2" && mv -f -- "part-$2" "answer-$2"'


class FileChannel:
    """Ways by the files of one machine; requests are waited for there, so that each takes two round trips."""

    def __init__(self, environment: RemoteEnvironment) -> None:
        self._environment = environment

    @asynccontextmanager
    async def open(self, module: str, answer: AnswerRequest, *, confined: bool) -> AsyncIterator[str]:
        """While it is entered requests are answered; gives the module's folder there."""
        del confined  # the machine is the confinement
        made = await self._environment.fetch(
            _MAKE, self._environment.own_path("tools"), stdin=module.encode()
        )
        folder = made.data.decode()
        if made.code:
            raise ExecError(f"No folder for a script could be made: {made.said}")
        try:
            async with background() as start:
                start(partial(self._serve, folder, answer))
                yield folder
        finally:
            with anyio.CancelScope(shield=True), suppress(ExecError):
                await self._environment.fetch('rm -rf -- "$1"', folder)

    async def _serve(self, folder: str, answer: AnswerRequest) -> None:
        while True:
            with suppress(ExecError):  # what the program itself then loses is told by its own end
                found = await self._environment.fetch(_TAKE, folder, timeout=2 * _WAIT_SECONDS)
                name, _, request = found.data.partition(b"\0")
                if found.code:
                    return
                if name:
                    reply = await answer(request)
                    await self._environment.fetch(_PUT, folder, name.decode(), stdin=reply)
