"""A client program of this machine (docker, ssh, apptainer): asked something, and as the way to where jobs
run.
"""

import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

import anyio
from msgspec import Struct

from hermes.environments.remote.cli_child import ClientChild, start_client, start_client_on_terminal
from hermes.environments.remote.transport import End
from hermes.lib.abridged import Abridged
from hermes.lib.child_processes import run_process
from hermes.types.error import EnvironmentUnavailable, ExecError

_ADVICE: Final = ("Run '", "See '", "Unable to find image")


class Answer(Struct, frozen=True):
    """What a client said: exit code, output, and its complaint on standard error."""

    code: int
    text: str
    said: str

    @property
    def last(self) -> str:
        """The last line of what it said: its errors end with it."""
        return (self.said or self.text or f"exit code {self.code}").splitlines()[-1]


class CliProgram(Abridged, Struct, frozen=True, kw_only=True):
    """A client program of this machine, found by name, with the environment it is called with; `hint` says
    how to install it.
    """

    unshown: ClassVar = ("env",)

    path: str
    env: Mapping[str, str]

    async def ask(self, *arguments: str, timeout: float = 60.0, stdin: bytes = b"") -> Answer:
        """Run it to its end; ExecError when it takes longer than `timeout` seconds."""
        try:
            with anyio.fail_after(timeout):
                done = await run_process(
                    [self.path, *arguments],
                    given=stdin,
                    env=dict(self.env),
                    cwd="/",
                    start_new_session=True,
                )
        except TimeoutError as error:
            raise ExecError(
                f"{self.path} {' '.join(arguments[:2])} gave no answer within {timeout:g} seconds"
            ) from error
        return Answer(
            done.returncode,
            done.stdout.decode("utf-8", "replace").strip(),
            done.stderr.decode("utf-8", "replace").strip(),
        )

    async def attempt(self, *arguments: str, timeout: float) -> Answer:
        """As `ask`; no answer in time is one of a program that fails."""
        try:
            return await self.ask(*arguments, timeout=timeout)
        except ExecError:
            return Answer(1, "", "it gave no answer in time")

    def launch(self, *arguments: str, stdin: bytes | None, pty: bool, end: End) -> ClientChild:
        """Start it with pipes, where `stdin` is all of its input and None leaves it open, or on a terminal of
        its own; `end` ends the job at the other side.
        """
        argv = (self.path, *arguments)
        if pty:
            return start_client_on_terminal(argv, self.env, end=end)
        return start_client(argv, self.env, stdin=stdin, end=end)

    async def must(self, *arguments: str, what: str, timeout: float = 60.0) -> str:
        """What it printed; EnvironmentUnavailable, with its complaint, when it failed at `what`."""
        answer = await self.ask(*arguments, timeout=timeout)
        if answer.code != 0:
            raise EnvironmentUnavailable(f"{what}: {_complaint(answer)}")
        return answer.text


class CliTransport(ABC):
    """A machine that jobs reach as children of a client program; what is common to such implementations of
    `RemoteTransport`.
    """

    def __init__(self, program: CliProgram) -> None:
        self._program = program

    def launch(self, argv: tuple[str, ...], *, stdin: bytes | None, pty: bool, end: End) -> ClientChild:
        """Start `argv` there."""
        return self._program.launch(*self._words(argv, pty=pty), stdin=stdin, pty=pty, end=end)

    @abstractmethod
    def _words(self, argv: tuple[str, ...], *, pty: bool) -> tuple[str, ...]:
        """The client's arguments that run `argv` there."""


def refuses_limits(said: str) -> bool:
    """Whether a program complains that it cannot set limits here: no control group is delegated to it."""
    return "cgroup" in said


def without_limits(error: Exception) -> str:
    """What a user must know where a machine was started without its limits."""
    return f"the limits (container_…) are not in force here: {error}"


def _complaint(answer: Answer) -> str:
    """What it complained of, in one line and without its advice on its own options."""
    lines = [line.strip() for line in (answer.said or answer.text).splitlines()]
    return (
        " ".join(line for line in lines if line and not line.startswith(_ADVICE))
        or f"exit code {answer.code}"
    )


def find_program(names: Sequence[str], environ: Mapping[str, str], hint: str) -> CliProgram:
    """The first of the programs that is installed; EnvironmentUnavailable with the hint when none is."""
    for name in names:
        path = shutil.which(name, path=environ.get("PATH"))
        if path:
            return CliProgram(path=path, env=environ)
    raise EnvironmentUnavailable(f"{' or '.join(names)} is not installed here; {hint}.")
