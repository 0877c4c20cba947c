"""Run commands on another host, by the OpenSSH client over one kept connection: the user's config, agent and
jump hosts apply.
"""

import hashlib
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from hermes.environments.remote.cli_program import Answer, CliProgram, CliTransport, find_program
from hermes.environments.remote.transport import Check
from hermes.types.error import EnvironmentUnavailable, ExecError

_CONNECT_SECONDS: Final = 20
_ALIVE: Final = ("-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3")
# What the client says of the usual refusals, and what helps.
_HINTS: Final = {
    "Host key verification failed": "connect once with ssh yourself, and compare the key that it shows",
    "Permission denied": (
        "it must let you in without a password: load your key into the agent (ssh-add), or set"
        " terminal.ssh_key"
    ),
    "Could not resolve hostname": "see terminal.ssh_host and your ssh config",
    "Connection refused": "see whether its ssh server runs, and terminal.ssh_port",
    "timed out": "see whether it is up, and whether a firewall is between",
}
_LONGEST_SOCKET: Final = 100  # a Unix socket's path takes 108 bytes, and the client adds some of its own


class SshOptions(Struct, frozen=True, kw_only=True):
    """A host as the user's ssh config knows it; user, port (0: as configured) and key are for those without
    one.

    `folder` takes the socket of the kept connection, which lasts `idle_seconds` after the last command.
    `extra` goes before the host.
    """

    host: str
    folder: Path
    user: str = ""
    port: int = 0
    key: str = ""
    idle_seconds: int = 300
    extra: tuple[str, ...] = ()


class SshTransport(CliTransport):
    """A host behind one kept connection: implements `RemoteTransport`."""

    name = "ssh"

    def __init__(self, program: CliProgram, options: SshOptions) -> None:
        super().__init__(program)
        self._options = options
        self.where = f"{options.user}@{options.host}" if options.user else options.host

    async def open(self) -> str:
        """Connect, unless the kept connection is there."""
        self._options.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not await self.fault():
            return ""
        self._socket().unlink(missing_ok=True)  # of a connection that died
        # What is said first wins, so this comes before the common part, which makes no connection of its own.
        keep = ("-o", "ControlMaster=auto", "-o", f"ControlPersist={self._options.idle_seconds or 'yes'}")
        arguments = (*keep, *self._common(), "-T", "--", self.where, "exit 0")
        answer = await self._program.ask(*arguments, timeout=_CONNECT_SECONDS + 10)
        if answer.code != 0:
            raise EnvironmentUnavailable(_refusal(self.where, answer))
        return ""

    async def check(self, seconds: float) -> Check:
        """Whether it lets us in, asked over no connection that is kept."""
        quick = ("-o", f"ConnectTimeout={max(1, int(seconds) - 1)}")
        try:
            answer = await self._program.ask(
                *quick, *self._common(), "-T", "--", self.where, "exit 0", timeout=seconds
            )
        except ExecError:
            return Check(
                "fault",
                f"ssh: {self.where} gave no answer within {seconds:g} seconds; see whether it is up, and"
                " whether a firewall is between.",
            )
        if answer.code:
            return Check("fault", f"ssh: {_refusal(self.where, answer)}")
        return Check("ok", f"ssh: {self.where} answers")

    async def close(self) -> None:
        """Nothing: another session may be using the kept connection, and it ends by its own clock."""

    async def disconnect(self) -> None:
        """End the kept connection now, for all sessions."""
        await self._program.ask(*self._common(), "-O", "exit", "--", self.where, timeout=_CONNECT_SECONDS)

    async def fault(self) -> str:
        """What is wrong with the connection."""
        answer = await self._program.ask(
            *self._common(), "-O", "check", "--", self.where, timeout=_CONNECT_SECONDS
        )
        return "" if answer.code == 0 else "the connection ended"

    def _words(self, argv: tuple[str, ...], *, pty: bool) -> tuple[str, ...]:
        # Over the kept connection and no other.
        return (*self._common(), "-tt" if pty else "-T", "--", self.where, shlex.join(argv))

    def _common(self) -> tuple[str, ...]:
        chosen = self._options
        return (
            *("-o", f"ControlPath={self._socket()}", "-o", "ControlMaster=no", "-o", "BatchMode=yes"),
            *("-o", f"ConnectTimeout={_CONNECT_SECONDS}", "-o", "LogLevel=ERROR", *_ALIVE),
            *(("-p", str(chosen.port)) if chosen.port else ()),
            *(("-i", str(Path(chosen.key).expanduser()), "-o", "IdentitiesOnly=yes") if chosen.key else ()),
            *chosen.extra,
        )

    def _socket(self) -> Path:
        seed = repr((self.where, self._options.port, self._options.key, self._options.extra))
        path = self._options.folder / hashlib.blake2s(seed.encode(), digest_size=6).hexdigest()
        if len(str(path)) > _LONGEST_SOCKET:
            raise EnvironmentUnavailable(
                f"{path} is too long a path for the socket of an ssh connection; choose a shorter"
                " HERMES_HOME."
            )
        return path


def ssh_transport(options: SshOptions, environ: Mapping[str, str]) -> SshTransport:
    """The way to a host; EnvironmentUnavailable when there is no client or no host was named."""
    if not options.host:
        raise EnvironmentUnavailable("terminal.backend is ssh, but terminal.ssh_host names no host.")
    if options.host.startswith("-"):
        raise EnvironmentUnavailable(f"{options.host!r} is no name of a host.")
    if options.key and not Path(options.key).expanduser().is_file():
        raise EnvironmentUnavailable(f"terminal.ssh_key is {options.key!r}, and there is no such file.")
    return SshTransport(find_program(("ssh",), environ, "install the OpenSSH client"), options)


def _refusal(where: str, answer: Answer) -> str:
    said = answer.said.splitlines()[-1].strip() if answer.said else f"exit code {answer.code}"
    hint = next((hint for sign, hint in _HINTS.items() if sign in answer.said), "try it with ssh yourself")
    return f"{where} cannot be reached by ssh ({said.rstrip('.')}); {hint}."
