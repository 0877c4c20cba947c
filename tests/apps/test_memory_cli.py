"""`hermes memory`, as a program: notes and facts are shown, searched and forgotten."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes.store.facts import Fact
from hermes.store.git_notes import GitNotes
from hermes.store.note_index import NoteIndex
from hermes.store.notes import Edit, NoteOrigin, Notes
from hermes.store.sqlite_facts import SqliteFacts
from tests.apps.conftest import Run

ELM = Fact(id="f1", text="The elm stands by the gate.", at=86_400.0, session="s1")
ADAS = Fact(
    id="f2",
    text="Ada\x1b[31m likes\u202e tea.",
    at=86_400.0,
    session="s2",
    origin="chat:ada",
    outside=("the tool x",),
)


@pytest.fixture(params=["sqlite", "git_notes"])
def facts(request: pytest.FixtureRequest, environ: dict[str, str]) -> Callable[[], list[str]]:
    """A home with two facts and a note; gives the words of the facts that are left."""
    home = Path(environ["HERMES_HOME"])
    memories = home / "memories"
    memories.mkdir(parents=True)
    (home / "config.yaml").write_text(json.dumps({"memory": {"provider": request.param}}))
    Notes(folder=memories, limits={"memory": 99, "user": 99}).edit(
        "memory", [Edit(action="add", content="The elm is a tree.")], NoteOrigin(at=86_400.0, session="s0")
    )

    def opened() -> SqliteFacts | GitNotes:
        if request.param == "sqlite":
            return SqliteFacts(memories / "facts.db", half_life=0)
        return GitNotes(memories / "notes", environ, NoteIndex(memories / "notes.db", half_life=0))

    kept = opened()
    for fact in (ELM, ADAS):
        kept.add(fact)
    kept.close()

    def left() -> list[str]:
        kept = opened()
        try:
            return [one.text for one in kept.everything()]
        finally:
            kept.close()

    return left


def ids(shown: str) -> list[str]:
    return re.findall(r"\(id (\S+),", shown)


def test_facts_are_listed_searched_and_forgotten_beside_the_notes(
    run: Run, facts: Callable[[], list[str]]
) -> None:
    lines = run("memory", "show").stdout.splitlines()
    elm, adas = ids("\n".join(lines))
    assert [re.sub(r"\d{4}-\d\d-\d\d", "DAY", line) for line in lines[1:2] + lines[-2:]] == [
        "  - The elm is a tree. (noted DAY in session s0)",
        f"  - The elm stands by the gate. (id {elm}, noted DAY in session s1)",
        f"  - Ada likes⟨U+202E⟩ tea. (id {adas}, noted DAY in session s2 for chat:ada, after text from the tool x)",
    ]
    assert lines[-3].endswith(" (memory.provider): 2")
    assert ids(run("memory", "show", "tea", "ADA").stdout) == [adas]
    done = run("memory", "forget", adas, "nobody")
    assert (done.returncode, done.stdout) == (
        2,
        "1 forgotten. Sessions that are open keep what they were told.\n",
    )
    assert "There is no fact nobody; hermes memory show tells the ids." in done.stderr
    assert facts() == [ELM.text]


def test_reset_forgets_notes_and_facts_once_it_was_told_so(run: Run, facts: Callable[[], list[str]]) -> None:
    asked = run("memory", "reset", given="n\n")
    assert re.match(
        r"Forget all of MEMORY\.md and USER\.md and the facts of \w+ \(2\)\? \[y/N\]", asked.stdout
    )
    assert len(facts()) == 2
    run("memory", "reset", "--target", "memory", "--yes")
    assert ("The elm is a tree." in run("memory", "show").stdout, len(facts())) == (False, 2)
    assert run("memory", "reset", "--target", "facts", "--yes").returncode == 0
    assert facts() == []
    assert run("memory", "reset", "--target", "facts", "--yes").stdout == "There are no facts.\n"


def test_without_a_provider_there_is_no_fact_to_forget(run: Run) -> None:
    assert "memory.provider" not in run("memory", "show").stdout
    assert "There is no memory provider with facts to forget" in run("memory", "forget", "f1").stderr


def test_doctor_names_the_memory_provider_and_why_its_place_will_not_do(
    run: Run, environ: dict[str, str], tmp_path: Path
) -> None:
    def doctor(**memory: str) -> str:
        home = Path(environ["HERMES_HOME"])
        home.mkdir(exist_ok=True)
        (home / "config.yaml").write_text(json.dumps({"memory": memory}))
        return next(line for line in run("doctor").stdout.splitlines() if "memory: " in line)

    kept = Path(environ["HERMES_HOME"], "memories")
    assert doctor().startswith("✓ memory: MEMORY.md and USER.md; memory.provider adds facts")
    assert doctor(provider="sqlite") == f"✓ memory: sqlite, facts in {kept / 'facts.db'} (none yet)"
    assert doctor(provider="git_notes") == f"✓ memory: git_notes, facts in {kept / 'notes'} (none yet)"
    assert doctor(provider="elm") == "✗ memory: memory.provider is elm; there are git_notes, sqlite."
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("by hand")
    told = doctor(provider="git_notes", notes_folder=str(notes))
    assert told.startswith(f"✗ memory: memory.notes_folder: {notes} cannot keep notes (")
    subprocess.run(["git", "init", "--quiet", notes], check=True)
    assert doctor(provider="git_notes", notes_folder=str(notes)) == f"✓ memory: git_notes, facts in {notes}"
    assert not kept.exists()
    kept.mkdir()
    (kept / "facts.db").write_bytes(b"")
    lost = f"{kept / 'facts.db'} is damaged (it holds no table of facts): no fact in it is told, and none is"
    assert doctor(provider="sqlite").startswith(f"✗ memory: {lost}")
    shown = run("memory", "show")
    assert (shown.returncode, shown.stderr.startswith(f"hermes: {lost}")) == (1, True)
    assert (kept / "facts.db").read_bytes() == b""


def test_a_reset_without_an_answer_says_what_to_give_and_forgets_nothing(
    run: Run, facts: Callable[[], list[str]]
) -> None:
    before = facts()
    asked = run("memory", "reset", given="")
    assert (asked.returncode, "There was no answer; -y forgets without asking." in asked.stderr) == (2, True)
    assert facts() == before


def test_words_that_nothing_holds_are_told(run: Run, facts: Callable[[], list[str]]) -> None:
    assert facts()
    shown = run("memory", "show", "nobody-wrote-this")
    assert (shown.returncode, shown.stderr) == (0, "None of them holds these words.\n")
