"""Runs scripts as the throw-away user, confined or free: a process of that user's own, told line by line what to do."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio

from hermes.environments.local_workspace import open_sandbox
from hermes.environments.sandbox.launch import Confinement
from hermes.environments.sandbox.sandbox import CLEAN, Sandbox, SandboxOptions

BASH = ("bash", "--noprofile", "--norc", "-c")
BEGAN = "the script began"


def main() -> None:
    """Answer each line of standard input with one line."""
    sandboxes: dict[str, Sandbox] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        sys.stdout.write(json.dumps(_done(asked, sandboxes)) + "\n")
        sys.stdout.flush()
    for sandbox in sandboxes.values():
        sandbox.close()


def _done(asked: dict[str, Any], sandboxes: dict[str, Sandbox]) -> str:
    script, variables = f"echo {BEGAN}; mkdir -p $T\n{asked['script']}", asked["variables"]
    if asked["mode"] is None:
        return _run((*BASH, script, "bash"), variables, ())
    key = json.dumps([asked["mode"], asked["limits"]])
    if key not in sandboxes:
        sandboxes[key] = _sandbox(asked, variables)
    sandbox = sandboxes[key]
    argv = (*BASH, f"{sandbox.first}\n{script}", "bash")
    network = tuple(asked["network"]) if isinstance(asked["network"], list) else asked["network"]
    sandbox.begin()
    retries = sandbox.retries()
    while True:  # sockets of other programs come and go while the sandbox is set up
        with (
            sandbox.launch(
                argv, env=variables, wanted=Confinement(network=network), steady=retries.steady
            ) as launch,
            closing(launch.signal),
        ):
            output = _run(launch.argv, CLEAN, launch.descriptors)
            if launch.signal.begun():
                sandbox.take_refused()
                sandbox.end()
                return output
        anyio.run(retries.again, output)


def _sandbox(asked: dict[str, Any], variables: dict[str, str]) -> Sandbox:
    found = open_sandbox(
        workspace=Path(variables["WORK"]),
        home=Path(variables["HOME"]),
        hermes_home=Path(variables["HOME"]) / ".hermes",
        scratch=Path(variables["SCRATCH"]),
        environ=variables,
        sandboxing=SandboxOptions(mode=asked["mode"], **asked["limits"]),
    )
    if found is None:
        raise SystemExit("bubblewrap does not work for this user")
    return found


def _run(argv: tuple[str, ...], env: Mapping[str, str], descriptors: tuple[int, ...]) -> str:
    with tempfile.TemporaryFile() as output:  # a survivor would hold a pipe open
        process = subprocess.Popen(
            argv,
            env=env,
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            start_new_session=True,
        )
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        return output.read().decode(errors="replace")


if __name__ == "__main__":
    main()
