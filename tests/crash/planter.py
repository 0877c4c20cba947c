"""A process with a confined command that plants settings in a repository and then does not end.

Usage: planter.py FOLDER; the workspace is FOLDER/work. The command makes FOLDER/work/ready when it has planted.
"""

import sys
from pathlib import Path

import anyio

from hermes.environments.local_workspace import LocalWorkspace, open_sandbox
from hermes.types.action import Action, Permit


def opened(folder: Path) -> LocalWorkspace:
    """The workspace, whose commands are all confined."""

    async def confined(action: Action) -> Permit:
        return Permit.of(action, confined=True)

    (folder / "hermes").mkdir(exist_ok=True)
    environ = {"HOME": str(folder), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    sandbox = open_sandbox(
        workspace=folder / "work",
        home=folder,
        hermes_home=folder / "hermes",
        scratch=folder / "hermes" / "scratch",
        environ=environ,
    )
    return LocalWorkspace(
        folder / "work",
        authorize=confined,
        environ=environ,
        scratch=folder / "hermes" / "scratch",
        sandbox=sandbox,
    )


async def main(folder: Path) -> None:
    space = opened(folder)
    await space.run("true", timeout=60)
    await space.run("git init -q .; git config core.pager x; touch ready; sleep 600", timeout=600)


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]))
