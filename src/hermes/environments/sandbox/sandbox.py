"""Confine a job with bubblewrap: a read-only machine, a few writable folders, no secrets, no network, its own
processes.
"""

import os
import platform
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from hermes.config.environ import CONFINED
from hermes.environments.sandbox import landlock, seccomp
from hermes.environments.sandbox.egress import Way, Ways, is_given, variables
from hermes.environments.sandbox.hard_links import make_single
from hermes.environments.sandbox.inside import can_look, shows
from hermes.environments.sandbox.instructions import Instructions
from hermes.environments.sandbox.launch import (
    Confinement,
    Launch,
    SetupRetries,
    StartSignal,
    duplicate,
    given_signal,
    in_memory,
)
from hermes.environments.sandbox.mounts import (
    Mode,
    Mount,
    Mounts,
    View,
    identity,
    mounted,
    open_source,
    watched,
)
from hermes.environments.sandbox.planted import Watched
from hermes.environments.sandbox.snapshot import exists
from hermes.environments.sandbox.watch import Watch
from hermes.types.capabilities import ALL, Capabilities

CLEAN: Final[Mapping[str, str]] = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
"""The environment to start a confined job with: a confined command can export LD_PRELOAD, and the sandbox
itself must not load that.
"""

_TEMP: Final = "/tmp"  # noqa: S108  # the name inside
_USUAL: Final = Confinement()
_NOT_ENTERED: Final = {"shut": "0000", "pass": "0111"}
_OPENING: Final = frozenset({"write", "place", "show"})


class SandboxOptions(Struct, frozen=True, kw_only=True):
    """What is set: the mode, whether debuggers work in it, the limits of a command (0 is none), and what its
    session may do at most.
    """

    mode: Mode = "workspace"
    tracing: bool = False
    processes: int = 4096
    file_gigabytes: int = 100
    bounds: Capabilities = ALL


class Program(Struct, frozen=True, kw_only=True):
    """A bubblewrap; `descriptors` says that it takes the sources of mounts as open descriptors, `rules` that
    Landlock works inside.
    """

    path: str
    descriptors: bool = True
    rules: bool = False


class Sandbox:
    """Confines jobs by the kernel; made by `probe.find_sandbox`, which knows that it works."""

    def __init__(
        self, program: Program, mounts: Mounts, options: SandboxOptions, ways: Ways | None = None
    ) -> None:
        self._program = program
        self._mounts = mounts
        self._ways = ways
        self._tops = tuple(os.path.realpath(path) for path in mounts.writable)
        self._watch = Watch(mounts.journal)
        self._watched: dict[View, Watched] = {}  # following the links of all start files takes 7 ms
        self._instructions = Instructions(tuple(os.path.realpath(path) for path in mounts.repositories))
        self.options = options
        self._filter = seccomp.program(platform.machine(), tracing=options.tracing)

    @property
    def program(self) -> str:
        """The bubblewrap that is used."""
        return self._program.path

    @property
    def filters(self) -> bool:
        """Whether kernel calls are filtered."""
        return bool(self._filter)

    @property
    def rules(self) -> bool:
        """Whether Landlock's rules stand beside the mounts."""
        return self._program.rules

    @property
    def first(self) -> str:
        """What a confined shell does before anything else: it lowers its own limits, which it cannot raise
        again.
        """
        limits = {"c": 0, "u": self.options.processes, "f": self.options.file_gigabytes * 1024**2}
        return "; ".join(
            f"ulimit -{letter} {limit} 2>/dev/null"
            for letter, limit in limits.items()
            if limit or letter == "c"
        )

    def paths(self, kind: Literal["write", "hide", "read"]) -> tuple[str, ...]:
        """The paths, by their names inside, that a confined job can write, finds empty, or can only read
        within a writable one.
        """
        view = View(mode=self.options.mode)
        kinds = {"write", "place"} if kind == "write" else {kind}
        return tuple(mount.path for mount in mounted(self._mounts, view) if mount.kind in kinds)

    def launch(
        self,
        argv: tuple[str, ...],
        *,
        env: Mapping[str, str],
        wanted: Confinement = _USUAL,
        steady: frozenset[str] | None = None,
    ) -> Launch:
        """How to run `argv` confined, from the top folder, with exactly the environment `env`; OSError when
        that cannot be built.

        `steady` is as `SetupRetries` has it.
        """
        mounts, env = self.mounts(wanted, steady), self.variables(env, wanted)
        if self._program.rules:
            launch = self.prepare(wanted, mounts)
            launch.signal.give(landlock.command_words(argv, env))
            return launch
        with ExitStack() as opened:
            signal, given = given_signal(opened)
            options = ["--block-fd", str(given[0])]
            options += [part for name, value in env.items() for part in ("--setenv", name, value)]
            launch = self._launch(wanted, mounts, options, argv, signal, given, opened)
            opened.pop_all()
        signal.give()
        return launch

    def prepare(self, wanted: Confinement, mounts: Iterable[Mount]) -> Launch:
        """How to set up a sandbox that waits for `tell`, where `rules` stand; OSError when that cannot be
        built.
        """
        files = self._mode(wanted) != "full"
        with ExitStack() as opened:
            signal, given = given_signal(opened)
            rules = landlock.make_rules(dict.fromkeys(self._writable(wanted)), files=files)
            opened.callback(os.close, rules)
            given += [rules, duplicate(signal.words, opened), duplicate(signal.notice, opened)]
            waiting = landlock.wrap(
                signal=given[0], rules=given[1], words=given[2], notice=given[3], files=files
            )
            launch = self._launch(wanted, mounts, [], waiting, signal, given, opened)
            opened.pop_all()
        return launch

    def tell(
        self, signal: StartSignal, argv: tuple[str, ...], env: Mapping[str, str], wanted: Confinement
    ) -> None:
        """Have a prepared sandbox run `argv` with exactly the environment `env`."""
        signal.give(landlock.command_words(argv, self.variables(env, wanted)))

    def mounts(self, wanted: Confinement, steady: frozenset[str] | None = None) -> list[Mount]:
        """What a job sees, asked of the machine now; ValueError when a host is none."""
        way, view = self._way(wanted), self._view(wanted, steady)
        return [*mounted(self._mounts, view), *([way.mount] if way else ())]

    def still_holds(self, leader: int, wanted: Confinement, seen: list[Mount]) -> bool:
        """Whether a running sandbox, whose outermost process is `leader` and which began with the mounts
        `seen`, opens nothing that one would not that is made now, and covers all that it would.
        """
        now = self.mounts(wanted)
        if not {one for one in seen if one.kind in _OPENING} <= set(now):
            return False
        with suppress(OSError):  # it has ended
            return shows(leader, now) if can_look() else set(now) <= set(seen)
        return False

    def retries(self) -> SetupRetries:
        """The tries that one job has, should files come and go while its sandbox is set up."""
        view = View(mode=self.options.mode)
        return SetupRetries(lambda: {mount.path: identity(mount) for mount in mounted(self._mounts, view)})

    def _launch(
        self,
        wanted: Confinement,
        mounts: Iterable[Mount],
        options: list[str],
        argv: tuple[str, ...],
        signal: StartSignal,
        given: list[int],
        opened: ExitStack,
    ) -> Launch:
        mode, way = self._mode(wanted), self._way(wanted)
        words = _namespaces(mode, network=wanted.network is True, pty=wanted.pty)
        for mount in mounts:
            words += self._mount(mount, mode, given, opened)
        words += ["--clearenv", "--chdir", "/", *options]
        if self._filter:
            given.append(in_memory(self._filter, opened))
            words += ["--seccomp", str(given[-1])]
        argv = way.wrap(argv) if way else argv
        # By a descriptor: everybody on the machine can read the words of a running program.
        given.append(in_memory(b"".join(os.fsencode(word) + b"\0" for word in words), opened))
        return Launch((self.program, "--args", str(given[-1]), "--", *argv), tuple(given), signal)

    def _view(self, wanted: Confinement, steady: frozenset[str] | None = None) -> View:
        return View(
            mode=self._mode(wanted),
            network=wanted.network is True,
            paths=wanted.paths,
            fixed=self._instructions.fixed if wanted.protected else (),
            covered=wanted.covered,
            steady=steady,
        )

    def _mode(self, wanted: Confinement) -> Mode:
        return "workspace" if wanted.writable and self.options.mode == "read-only" else self.options.mode

    def _way(self, wanted: Confinement) -> Way | None:
        hosts = wanted.network
        return self._ways.to(hosts) if self._ways and isinstance(hosts, tuple) and hosts else None

    def variables(self, env: Mapping[str, str], wanted: Confinement) -> dict[str, str]:
        """The environment of a job that was given `env`."""
        mode = self._mode(wanted)
        network = wanted.network if self._way(wanted) else wanted.network is True
        env = variables(env, CONFINED, mode, network)
        return env if mode == "full" else {**env, "TMPDIR": _TEMP}

    def gave(self, name: str, value: str) -> bool:
        """Whether a variable that a job left is one that it was given, with the value that it got."""
        return name == CONFINED or (name, value) == ("TMPDIR", _TEMP) or is_given(name, value)

    def _writable(self, wanted: Confinement) -> Iterator[Path]:
        """What the kernel's own rules let a job write."""
        yield from (source for _, source in self._mounts.placed)
        if self._mode(wanted) == "workspace":
            yield from filter(os.path.isdir, self._mounts.writable)  # one that bounds name may not be there
        yield from (Path(path) for path in wanted.paths if os.path.exists(path))  # noqa: PTH110

    def take_refused(self) -> list[str]:
        """What has not been let happen since the last time, a sentence each: requests to hosts, and files
        that would run something later.
        """
        refused = [f"network: {sentence}" for sentence in (self._ways.take_refused() if self._ways else ())]
        return refused + [f"sandbox: {sentence}" for sentence in self._watch.take()]

    def take_left(self) -> list[str]:
        """The files that would run something later of jobs whose Hermes was killed; a sentence each."""
        return [f"sandbox: {sentence}" for sentence in self._watch.take_left()]

    def begin(self, wanted: Confinement = _USUAL) -> None:
        """Take what is there now and runs later for the user's own, before a job; while another one runs, it
        may be that job's.
        """
        guarded = self._instructions.watched if wanted.protected else ()
        if wanted.protected:
            make_single(self._instructions.files())
        view = View(mode=self._mode(wanted), paths=wanted.paths)
        if view not in self._watched:
            self._watched[view] = watched(self._mounts, view)
        self._watch.begin(replace(self._watched[view], instructions=guarded))

    @property
    def keeps_instructions(self) -> bool:
        """Whether what jobs that run make of what agents take as instructions is moved aside."""
        return self._watch.keeps_instructions

    def accept(self, path: str) -> None:
        """Take what is made at this path of the machine for the user's own, who let it be made, while jobs
        run that may not.
        """
        self._watch.accept(path)

    def accept_instructions(self) -> None:
        """Take what agents take as instructions as it is now: a job has ended that was let change it."""
        for path in filter(exists, self._instructions.watched):
            self._watch.accept(path)

    def end(self) -> None:
        """No job runs any more, and `take_refused` has told what they left."""
        self._watch.end()

    def close(self) -> None:
        """Stop what serves its jobs."""
        self._watch.close()
        if self._ways:
            self._ways.close()

    def outside(self, path: str) -> Path | None:
        """Where a path that a confined job sees lies on this machine, when that is another place; writable
        places win.
        """
        if self.options.mode == "full":
            return None
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
            if path.is_relative_to(source) and self.options.mode != "full":
                return str(Path(name) / path.relative_to(source))
        return str(path)

    def _mount(self, mount: Mount, mode: Mode, given: list[int], opened: ExitStack) -> tuple[str, ...]:
        """The options for one mount; its source is given open where a confined job could have swapped it."""
        if mount.kind == "hide":
            return (
                ("--perms", "0700", "--tmpfs", mount.path)
                if os.path.isdir(mount.path)  # noqa: PTH112
                else ("--ro-bind", "/dev/null", mount.path)
            )
        if mount.kind in _NOT_ENTERED:
            return _barred(mount, given, opened)
        option = "--ro-bind" if mount.kind in {"read", "show"} else "--bind"
        tops = ("/",) if mode == "full" else self._tops
        held = (
            open_source(mount.source, tops)
            if self._program.descriptors and mount.kind in {"read", "pin"}
            else None
        )
        if held is None:
            return (option, mount.source, mount.path)
        opened.callback(os.close, held)
        given.append(held)
        return (f"{option}-fd", str(held), mount.path)


def _barred(mount: Mount, given: list[int], opened: ExitStack) -> tuple[str, ...]:
    """The options for a place that may not be entered, so that a program is told so instead of finding it
    empty; it may be passed, where something below it shows.
    """
    rights = ("--perms", _NOT_ENTERED[mount.kind])
    if os.path.isdir(mount.path):  # noqa: PTH112
        fixed = ("--remount-ro", mount.path) if mount.kind == "shut" else ()
        return (*rights, "--tmpfs", mount.path, *fixed)
    given.append(in_memory(b"", opened))
    return (*rights, "--ro-bind-data", str(given[-1]), mount.path)


def _namespaces(mode: Mode, *, network: bool, pty: bool) -> list[str]:
    """The options that take the machine away; the mounts give parts of it back."""
    root = ("--bind", "/", "/", "--ro-bind", "/sys", "/sys") if mode == "full" else ("--ro-bind", "/", "/")
    return [
        *("--die-with-parent", "--unshare-all", "--hostname", "sandbox"),
        *(("--share-net",) if network else ()),
        # On a terminal of its own a session of its own would lose it; that terminal has nobody else to inject
        # input into.
        *(() if pty else ("--new-session",)),
        *("--cap-drop", "ALL"),
        *root,
        *("--dev", "/dev", "--proc", "/proc", "--perms", "0755", "--tmpfs", "/run"),
    ]
