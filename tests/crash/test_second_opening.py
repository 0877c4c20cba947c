"""A program that opens a file of ours a second time keeps what holds it: another process does not clear its log away, and what was told is stored survives kill -9."""

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from hermes.store.sqlite_facts import SqliteFacts
from hermes.types.message import User
from tests.unit.store.filled import logs

ANOTHER = """
import sqlite3, subprocess, sys

PASSING = (
    "import sqlite3, sys; rows = sqlite3.connect(sys.argv[1]);"
    " rows.execute('SELECT count(*) FROM sqlite_master').fetchone(); rows.close()"
)

def another_process_comes_and_goes(path):
    subprocess.run([sys.executable, "-c", PASSING, str(path)], check=True)
"""

SESSIONS = (
    ANOTHER
    + """
from pathlib import Path
import anyio
from hermes.store.protocol import SessionRow
from hermes.store.sqlite_store import open_store
from hermes.types.message import User

async def main(home):
    files = home / "sessions.db", home / "search.db"
    async with open_store(*files) as store:
        row = SessionRow(id="s", cwd="", model="", created=0.0, updated=0.0)
        await store.create(row, system="", tools=[])
        await store.append("s", User(id="one", at=0.0, text="one"))
        async with open_store(*files):
            pass
        another_process_comes_and_goes(files[0])
        await store.append("s", User(id="two", at=0.0, text="two"))
        print("stored", flush=True)
        sys.stdin.read()

anyio.run(main, Path(sys.argv[1]))
"""
)

FACTS = (
    ANOTHER
    + """
from pathlib import Path
from hermes.store.fact_file import examine
from hermes.store.facts import Fact
from hermes.store.sqlite_facts import SqliteFacts

path = Path(sys.argv[1], "facts.db")
facts = SqliteFacts(path, half_life=0)
facts.add(Fact(id="one", text="one", at=0.0))
AGAIN
another_process_comes_and_goes(path)
facts.add(Fact(id="two", text="two", at=0.0))
print("stored", flush=True)
sys.stdin.read()
"""
)


def killed_when_it_was_told(program: str, home: Path) -> None:
    argv = [sys.executable, "-c", program, str(home)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "stored\n"
        process.kill()


def test_a_second_opening_of_the_store_loses_no_message(tmp_path: Path) -> None:
    killed_when_it_was_told(SESSIONS, tmp_path)
    said = (User(id="one", at=0.0, text="one"), User(id="two", at=0.0, text="two"))
    assert logs(tmp_path) == {"s": said}


@pytest.mark.parametrize("again", ["SqliteFacts(path, half_life=0).close()", "examine(path)"])
def test_a_second_look_at_the_facts_loses_none(tmp_path: Path, again: str) -> None:
    killed_when_it_was_told(FACTS.replace("AGAIN", again), tmp_path)
    with closing(SqliteFacts(tmp_path / "facts.db", half_life=0)) as facts:
        assert [one.id for one in facts.everything()] == ["one", "two"]
