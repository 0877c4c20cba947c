"""Whoever is asked sees what an action would delete or write over, as far as its words name it."""

import os
from pathlib import Path

import pytest

from hermes.agent.touched import touched
from hermes.present.spans import plain
from hermes.present.touches import has_list, touch_lines, touch_sentences
from hermes.safety.decide import Policy, decide
from hermes.types.action import Command, FileAccess
from hermes.types.question import Touched

pytestmark = pytest.mark.anyio


@pytest.fixture
def work(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    for name, text in {"build/a.o": "12345", "build/deep/b.o": "678", "app.py": "x" * 812, "notes.md": "n"}.items():  # fmt: skip
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(text)
    (made / "link").symlink_to("build")
    (made / "src").mkdir()
    (made / "src" / "app.py").write_text("old")
    return made


async def told(work: Path, command: str) -> list[str]:
    policy = Policy(workspace=str(work), home="/home/u", hermes_home="/home/u/.hermes", temp=("/nowhere",))
    action = Command(command=command, cwd=str(work))
    return list(touch_sentences(await touched(action, decide(action, policy), policy)))


@pytest.mark.parametrize(
    ("command", "sentences"),
    [
        ("rm -rf build", ["deletes build/ (2 files, 8 B)"]),
        ("cd src && rm -rf ../build ../app.py", ["deletes build/, app.py (3 files, 820 B)"]),
        ("rm -rf build/*", ["deletes build/a.o, build/deep/ (2 files, 8 B)"]),
        ("find . -name '*.o' -delete", ["deletes build/a.o, build/deep/b.o (2 files, 8 B)"]),
        ("rm link", ["deletes link (1 file, 5 B)"]),
        ("rm -rf nothing", []),
        ('rm -rf build "$X"', ["deletes build/ (2 files, 8 B) and what is only known when it runs"]),
        ("echo x > app.py; cp notes.md new.md", ["changes app.py (1 file, 812 B)"]),
        ("cp app.py src", ["changes src/app.py (1 file, 3 B)"]),
        ("mv app.py notes.md", ["changes notes.md (1 file, 1 B)"]),
        ("sed -i s/x/y/ app.py && rm notes.md", ["deletes notes.md (1 file, 1 B)", "changes app.py (1 file, 812 B)"]),
        ("rm -rf */*/*/*/zzz", ["deletes what is only known when it runs"]),
        ("bash -c 'rm -rf build'", ["deletes build/ (2 files, 8 B)"]),
        ("cat app.py; ls build", []),
    ],
)  # fmt: skip
async def test_it_is_told_in_a_sentence(work: Path, command: str, sentences: list[str]) -> None:
    assert await told(work, command) == sentences


async def test_many_files_are_counted_and_the_first_of_them_named(work: Path) -> None:
    for number in range(250):
        (work / "build" / f"f{number:03}").write_text("x")
    policy = Policy(workspace=str(work), home="/home/u", hermes_home="/home/u/.hermes")
    action = Command(command="rm -rf build", cwd=str(work))
    (found,) = await touched(action, decide(action, policy), policy)
    rows = [plain(row).strip() for row in touch_lines((found,), 80)]
    assert (has_list((found,)), rows[0], len(rows), rows[-1]) == (
        True, "deletes build/ (252 files, 258 B)", 202, "… 52 more",
    )  # fmt: skip


async def test_a_huge_tree_is_not_walked_to_its_end(work: Path) -> None:
    for folder in range(60):
        (work / "big" / str(folder)).mkdir(parents=True)
        for number in range(100):
            (work / "big" / str(folder) / str(number)).touch()
    (sentence,) = await told(work, "rm -rf big")
    assert sentence.startswith("deletes big/ (more than 4")


async def test_a_search_that_is_not_over_says_that_more_may_come(work: Path) -> None:
    for number in range(5_100):
        (work / "build" / f"{number}.c").touch()
    assert await told(work, "find . -name '*.zz' -delete") == ["deletes what is only known when it runs"]


async def test_what_a_command_of_the_sandbox_has_elsewhere_is_not_looked_at_here(tmp_path: Path) -> None:
    (tmp_path / "gone").write_text("x")
    policy = Policy(workspace="/w", home="/h", hermes_home="/h/.hermes", temp=(str(tmp_path),), sandbox="workspace")  # fmt: skip
    action = Command(command=f"rm {tmp_path}/gone", cwd="/w")
    assert await touched(action, decide(action, policy), policy) == ()


async def test_a_file_tool_names_what_it_would_write_over(work: Path) -> None:
    policy = Policy(workspace="/elsewhere", home="/h", hermes_home="/h/.hermes")
    action = FileAccess(operation="write", path=str(work / "app.py"))
    assert await touched(action, decide(action, policy), policy) == (
        Touched(how="changes", path=str(work / "app.py"), files=1, size=812),
    )


async def test_odd_names_are_shown_and_stored_as_text(work: Path) -> None:
    (work / os.fsdecode(b"odd\n\xff")).mkdir()
    (work / os.fsdecode(b"odd\n\xff") / "\x1b[31mred").touch()
    (found,) = await touched_by_star(work)
    assert (found.path, found.names) == ("odd⟨U+000A⟩\\xff/", ("⟨U+001B⟩[31mred",))


async def touched_by_star(work: Path) -> tuple[Touched, ...]:
    policy = Policy(workspace=str(work), home="/home/u", hermes_home="/home/u/.hermes")
    action = Command(command="rm -rf odd*", cwd=str(work))
    return await touched(action, decide(action, policy), policy)
