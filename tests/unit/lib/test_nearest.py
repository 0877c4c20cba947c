"""The names that somebody may have meant: near ones only."""

import pytest

from hermes.lib.nearest import nearest

TOOLS = (
    "terminal",
    "process",
    "read_file",
    "write_file",
    "patch",
    "search_files",
    "todo",
    "memory",
    "clarify",
)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Read-File", ["read_file"]),
        ("serch_files", ["search_files"]),
        ("termnal", ["terminal"]),
        ("nosuchtool", []),
        ("read", []),
        ("bash", []),
        ("", []),
    ],
)
def test_only_a_name_that_looks_like_it_is_meant(name: str, meant: list[str]) -> None:
    assert nearest(name, TOOLS) == meant


def test_the_likeliest_comes_first_and_no_more_than_are_asked_for() -> None:
    assert nearest("file", ["profile", "files", "filed", "other"], most=2) == ["files", "filed"]
