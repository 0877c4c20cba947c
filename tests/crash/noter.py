"""Notes facts until it is killed, and says the id of each once it is kept."""

import itertools
import os
import sys
from pathlib import Path

from hermes.store.facts import Fact, FactStore
from hermes.store.git_notes import GitNotes
from hermes.store.note_index import NoteIndex
from hermes.store.sqlite_facts import SqliteFacts


def opened(kind: str, folder: Path) -> FactStore:
    """The store of that kind in a folder."""
    if kind != "git_notes":
        return SqliteFacts(folder / "facts.db", half_life=0)
    index = NoteIndex(folder / "notes.db", half_life=0)
    return GitNotes(folder / "notes", {"PATH": os.environ["PATH"]}, index)


if __name__ == "__main__":
    store = opened(sys.argv[1], Path(sys.argv[2]))
    for number in itertools.count():
        kept = store.add(Fact(id=f"{os.getpid()}-{number}", text=f"elm {os.getpid()} {number}", at=1.0))
        sys.stdout.write(f"{kept}\n")
        sys.stdout.flush()
