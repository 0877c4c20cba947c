"""Make the pictures of docs/start: the program in a terminal, with a script in the place of the model.

Run it from the root of the checkout after a change of the screen:
PYTHONPATH=. .venv/bin/python scripts/tour_pictures.py
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from picture import COLUMNS, Recorder, cells, project, svg, variables

from hermes.testing import ScriptedModel, ScriptedServer, call, say

FOLDER = Path("docs/start")
ROWS = 40
SCRIPT = (
    call("read_file", {"path": "app.py"}, pause=0.02),
    say("`app.py` sets **twelve** values, from `value_0` to `value_11`."),
    call(
        "patch",
        {"mode": "replace", "path": "app.py", "old_string": "value_0 = 0\n", "new_string": "first = 0\n"},
        pause=0.02,
    ),
    say("Done: `value_0` is called `first` now."),
    call(
        "terminal",
        {"command": "curl -fsSO https://example.com/prices.csv", "needs": {"hosts": ["example.com"]}},
        pause=0.02,
        breaks_prefix=True,  # the turn before was taken back
    ),
    say("I did not fetch the prices, because you said no."),
    call(
        "clarify",
        {
            "question": "Two places write prices. Which one shall I change?",
            "choices": ["src/report.py", "src/parser.py", "both"],
        },
        pause=0.02,
    ),
    say("I will change `src/report.py` alone."),
)


class Tour(Recorder):
    """A session of which pictures are taken."""

    def ask(self, words: str, shown: str = "") -> None:
        """Send words, and wait until something is shown or the turn has ended."""
        self.until("? keys")
        self.type(f"{words}\r")
        self.until("Esc stops")
        self.until(shown or (lambda: "Esc stops" not in self.text))
        self.read(0.8)

    def take(self, name: str, title: str) -> None:
        """Write what the window shows."""
        (FOLDER / f"{name}.svg").write_text(svg(cells(self), title), encoding="utf-8")
        print(f"wrote {FOLDER / name}.svg")

    def clear(self) -> None:
        """Empty the window."""
        self.type("\x0c")
        self.read(0.5)


def tour(terminal: Tour) -> None:
    """The session of the tour."""
    terminal.ask("What does app.py do?")
    terminal.ask("Call value_0 first, please.")
    terminal.take("screen", "two turns: the file is read, then changed")
    terminal.clear()
    for words in ("/undo", "/undo both"):
        terminal.type(f"{words}\r")
        terminal.read(1.5)
    terminal.take("undo", "/undo says what it would do, /undo both does it")
    terminal.type("\x03")  # the message that came back
    terminal.clear()
    terminal.type("Fetch the prices.\r")
    terminal.until("Run this?")
    terminal.read(1.5)
    terminal.take("question", "a question about a command that needs a host")
    terminal.type("\x1b")
    terminal.until("because you said no")
    terminal.clear()
    terminal.type("Change how prices are written.\r")
    terminal.until("A question for you")
    terminal.read(1.5)
    terminal.take("choice", "a question of the model with three choices")
    terminal.type("1")
    terminal.read(0.5)
    terminal.type("\r")
    terminal.until("will change")


@contextmanager
def cleared(folder: Path) -> Iterator[None]:
    """Remove a folder that was not there before."""
    assert not folder.exists(), f"{folder} is somebody's"
    try:
        yield
    finally:
        shutil.rmtree(folder)


def main() -> None:
    """Run the session and write its pictures."""
    FOLDER.mkdir(exist_ok=True)
    root = Path(tempfile.gettempdir(), "you")  # the same in every picture
    with cleared(root), ScriptedServer(ScriptedModel(*SCRIPT)).running() as server:
        (root / "home").mkdir(parents=True)
        work = project(root / "demo")
        for words in ("add .", "-c user.name=you -c user.email=you@localhost commit -qm start"):
            # Git, wherever it is
            subprocess.run(["git", "-C", str(work), *words.split()], check=True)  # noqa: S607
        argv = [sys.executable, "-m", "hermes", "--base-url", server.base_url, "-m", "scripted"]
        with Tour(argv, cwd=work, env=variables(root), columns=COLUMNS, rows=ROWS) as terminal:
            tour(terminal)


if __name__ == "__main__":
    main()
