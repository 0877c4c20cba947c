"""Where a server that is a program of this machine runs: in a sandbox, with what was granted to it."""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from hermes.environments.base import Job, Limits
from hermes.environments.child_env import child_environment
from hermes.environments.local import LocalEnvironment
from hermes.environments.local_workspace import open_sandbox
from hermes.environments.sandbox.sandbox import Sandbox, SandboxOptions
from hermes.lib.secretvalues import SecretValues
from hermes.mcp.settings import McpServer
from hermes.safety.commands.dataflow import INTERPRETERS
from hermes.safety.commands.options import operands
from hermes.types.capabilities import Capabilities
from hermes.types.error import McpError

_START: Final = 'cd -- "$1" && shift && exec "$@"'
_SHELL: Final = "/bin/bash"
PACKAGE_FILES: Final = ("package.json", "pyproject.toml", "setup.py", "deno.json")
_WITH_VALUES: Final = frozenset({"-c", "-e", "-m", "-W", "-X", "-r", "--import", "--require"})
"""Options of interpreters whose next word is no script."""
PROCESSES: Final = 512
"""Processes that one server may have at once."""


class ServerPlace(Struct, frozen=True, kw_only=True):
    """Where servers of a home run; `own` is a folder for each, `user_home` the person's."""

    user_home: Path
    hermes_home: Path
    own: Path
    environ: Mapping[str, str]
    known: SecretValues

    def folder(self, name: str) -> Path:
        """What a server has for itself: its home, its caches, and where it works unless it says where."""
        return self.own / name / "home"

    def open(self, name: str, server: McpServer) -> LocalEnvironment:
        """An environment for one server; McpError where it must be confined and cannot be."""
        folder = self.folder(name)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        sandbox = self._sandbox(name, server, folder) if server.sandbox.enabled else None
        if server.sandbox.enabled and sandbox is None:
            raise McpError(
                f"There is no sandbox here (hermes sandbox status says why), so {name} is not started;"
                f" mcp_servers.{name}.sandbox.enabled: false runs it with all your rights."
            )
        return LocalEnvironment(
            outputs=self.own / name / "outputs", limits=Limits(), sandbox=sandbox, known=self.known
        )

    def job(self, name: str, server: McpServer) -> Job:
        """The program with its environment; McpError where it is not there."""
        env = {**child_environment(self.environ).given, **server.env}
        if server.sandbox.enabled:
            env["HOME"] = server.env.get("HOME", str(self.folder(name)))
        program = shutil.which(server.command, path=env.get("PATH", os.defpath))
        if program is None:
            raise McpError(f"{name} cannot be started: there is no program {server.command[:200]!r}.")
        if missing := self._missing_script(name, server):
            raise McpError(f"{name} cannot be started: there is no file {missing[:200]!r}.")
        network = server.sandbox.network
        return Job(
            argv=(
                _SHELL,
                "--noprofile",
                "--norc",
                "-c",
                _START,
                "mcp",
                str(self._cwd(name, server)),
                program,
                *server.args,
            ),
            env=env,
            confined=server.sandbox.enabled,
            network=network if isinstance(network, bool) else "*" in network or tuple(network),
            writable=True,
            paths=tuple(map(str, self._granted(server))),
            errors_apart=True,
        )

    def _missing_script(self, name: str, server: McpServer) -> str:
        """The file that an interpreter is told to run, where there is none; "" else."""
        script = next(iter(operands(server.args, _WITH_VALUES)), "")
        named = "/" in script or (Path(script).suffix != "" and "-m" not in server.args)
        if not named or INTERPRETERS.fullmatch(Path(server.command).name) is None:
            return ""
        return "" if (self._cwd(name, server) / self._expanded(script)).exists() else script

    def _cwd(self, name: str, server: McpServer) -> Path:
        return self._expanded(server.cwd) if server.cwd else self.folder(name)

    def _sandbox(self, name: str, server: McpServer, folder: Path) -> Sandbox | None:
        granted = tuple(map(str, self._granted(server)))
        read = (str(folder.resolve()), *granted, *map(str, self._readable(server)))
        bounds = Capabilities(
            read=("/",) if "/" in read else read,
            write=(str(folder.resolve()), *granted),
            unconfined=False,
        )
        return open_sandbox(
            workspace=folder,
            home=self.user_home,
            hermes_home=self.hermes_home,
            scratch=self.own / name / "scratch",
            environ=self.environ,
            sandboxing=SandboxOptions(mode="workspace", processes=PROCESSES, bounds=bounds),
        )

    def _granted(self, server: McpServer) -> tuple[Path, ...]:
        """The folders that it may write."""
        return tuple(path for path in map(self._expanded, server.sandbox.paths) if path.exists())

    def _readable(self, server: McpServer) -> Iterator[Path]:
        """What it must see to run: its program, what its arguments name, and what was granted."""
        yield from map(self._expanded, server.sandbox.read)
        if server.cwd:
            yield self._expanded(server.cwd)
        search = server.env.get("PATH") or self.environ.get("PATH", os.defpath)
        if program := shutil.which(server.command, path=search):
            for path in (Path(program), Path(program).resolve()):
                yield path.parent.parent if self._is_apart(path.parent.parent) else path.parent
        for word in server.args:
            named = self._expanded(word.partition("=")[2] or word)
            if "/" in word and named.is_absolute() and named.exists():
                yield self._package(named)

    def _package(self, path: Path) -> Path:
        """A folder itself; of a file what it is a part of, so that it finds what it loads: all node packages
        beside it, the nearest folder above that is a package, or the folder that it lies in.
        """
        if path.is_dir():
            return path
        above = [one for one in path.parents if self._is_apart(one)]
        modules = [one for one in above if one.name == "node_modules"]
        packages = [one for one in above if any((one / name).exists() for name in PACKAGE_FILES)]
        return next(iter((*modules[-1:], *packages, *above)), path)

    def _expanded(self, path: str) -> Path:
        """A path as the user writes it, links followed."""
        text = str(self.user_home) + path[1:] if path == "~" or path.startswith("~/") else path
        return Path(os.path.realpath(text)) if text.startswith("/") else Path(text)

    def _is_apart(self, folder: Path) -> bool:
        """Whether a folder does not hold much more than a program, as the top, a home and all above do."""
        return folder != Path("/") and not self.user_home.resolve().is_relative_to(folder)


_DENIED: Final = ("EROFS", "ead-only file system", "EACCES", "ermission denied", "ENOENT")
_UNREACHED: Final = (
    "ENOTFOUND",
    "EAI_AGAIN",
    "ECONNREFUSED",
    "is unreachable",
    "ame resolution",
    "not known",
)


def sandbox_hint(name: str, server: McpServer, said: str) -> str:
    """A sentence for a failure that the sandbox of a server may have caused; "" for any other."""
    box = server.sandbox
    if not (server.is_local and box.enabled):
        return ""
    if not box.network and any(word in said for word in _UNREACHED):
        return f"(Its sandbox has no network; hermes mcp allow {name} --network changes that.)"
    if any(word in said for word in _DENIED):
        granted = ", ".join(box.paths) or "nowhere but in its own folder"
        return f"(Its sandbox lets it write {granted}; hermes mcp allow {name} --write FOLDER changes that.)"
    return ""
