"""What the sandbox costs a command: confined and bare ones in turn, medians of the differences.
`scripts/bench sandbox`.

A confined command passes through several processes that wait for one another, so other work on the machine
counts many times: `chrt -f 10 scripts/bench sandbox` (as root) measures as if there were none.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from hermes.composition import SYSTEM_PORTS
from hermes.config.environ import environment
from hermes.environments.local_workspace import open_sandbox
from hermes.environments.sandbox.launch import Confinement
from hermes.environments.sandbox.mounts import Mode
from hermes.environments.sandbox.sandbox import CLEAN, Sandbox, SandboxOptions
from hermes.environments.sandbox.sandbox_status import layers

SHELL = ("bash", "--noprofile", "--norc", "-c", ":", "bash")
ROUNDS = 100
GOAL = "≤ 15 ms"


@contextmanager
def sandboxes(top: Path) -> Iterator[dict[str, tuple[Sandbox, bool | tuple[str, ...]]]]:
    """What is measured, by name: a sandbox and the network in it."""
    work = top / "work"
    work.mkdir()
    subprocess.run(["git", "init", "-q", str(work)], check=True)  # noqa: S607  # whichever git there is
    with ExitStack() as opened:

        def made(mode: Mode) -> Sandbox:
            environ = environment()
            found = open_sandbox(
                workspace=work,
                home=Path.home(),
                hermes_home=top / "home",
                scratch=top / mode,
                environ=environ,
                sandboxing=SandboxOptions(mode=mode),
            )
            if found is None:
                raise SystemExit("bubblewrap does not work here; hermes sandbox status says why")
            opened.callback(found.close)
            return found

        usual = made("workspace")
        print(
            "; ".join(
                f"{layer.name} {'on' if layer.enforced else 'off'}" for layer in layers(usual, network=False)
            )
            + "\n"
        )
        yield {
            "workspace": (usual, False),
            "read-only": (made("read-only"), False),
            "full": (made("full"), False),
            "workspace, network open": (usual, True),
            "workspace, named hosts": (usual, ("example.com", "*.example.org")),
        }


def bare() -> None:
    """The shell as a plain child process."""
    subprocess.run(SHELL, stdin=subprocess.DEVNULL, env=CLEAN, cwd="/", check=True)


# No flag: what is open
def confined(sandbox: Sandbox, network: bool | tuple[str, ...]) -> None:  # noqa: FBT001
    """The same shell in the sandbox."""
    with sandbox.launch(SHELL, env=CLEAN, wanted=Confinement(network=network)) as launch:
        subprocess.run(
            launch.argv, stdin=subprocess.DEVNULL, env=CLEAN, cwd="/", pass_fds=launch.descriptors, check=True
        )


def seconds(job: Callable[[], None]) -> float:
    """How long a job takes."""
    started = time.perf_counter()
    job()
    return time.perf_counter() - started


def main() -> None:
    """Print one Markdown table."""
    print(
        f"{SYSTEM_PORTS.now():.0f} epoch seconds, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f},"
        f" Python {sys.version.split()[0]}"
    )
    with (
        tempfile.TemporaryDirectory(prefix="hermes-bench-", dir=Path.home()) as folder,
        sandboxes(Path(folder)) as measured,
    ):
        print(
            "| a shell that does nothing | confined | bare | more, median | goal |\n|---|---:|---:|---:|---:|"
        )
        for name, (sandbox, network) in measured.items():
            confined(sandbox, network)  # the way out to named hosts opens with the first
            # Run at once
            pairs = [(seconds(lambda: confined(sandbox, network)), seconds(bare)) for _ in range(ROUNDS)]  # noqa: B023
            ours, floor = (median(side) * 1000 for side in zip(*pairs, strict=True))
            more = median(with_it - without for with_it, without in pairs) * 1000
            print(f"| {name} | {ours:.1f} ms | {floor:.1f} ms | {more:.1f} ms | {GOAL} |", flush=True)


if __name__ == "__main__":
    main()
