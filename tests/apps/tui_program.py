"""The interactive terminal on its own, for tests: python tui_program.py BASE_URL HOME [resume]."""

import sys
from pathlib import Path

import anyio

from hermes.apps.tui.app import run
from hermes.apps.tui.backing import Start, Wishes
from hermes.config.environ import environment
from hermes.config.home import locate
from hermes.lib.lazy import load


def main(base_url: str, resume: str = "") -> int:
    environ = environment()
    start = Start(
        opening=lambda: load("hermes.runtime:open_runtime")(environ=environ),
        home=locate(environ),
        environ=environ,
        cwd=Path.cwd(),
        version="0.1",
        wishes=Wishes(model="fake-1" if base_url else "", base_url=base_url),
        resume="" if resume == "choose" else resume,
        choose=resume == "choose",
    )
    return anyio.run(run, start)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
