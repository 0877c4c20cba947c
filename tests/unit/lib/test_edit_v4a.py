"""Multi-file patches are read whole and fit exactly, or nothing is done."""

import pytest

from hermes.lib.edit.diff import unified
from hermes.lib.edit.v4a import BadPatch, FileChange, Hunk, apply, parse

PATCH = """*** Begin Patch
*** Add File: new/a.txt
+one
+
+two
*** Update File: b.py
*** Move to: c.py
@@ class A:
@@     def f(self):
-        return 1
+        return 2
@@
 tail
+added
*** End of File
*** Delete File: d.txt
*** End Patch
"""


def test_a_patch_is_read_into_changes() -> None:
    assert parse(PATCH) == (
        FileChange(kind="add", path="new/a.txt", text="one\n\ntwo\n"),
        FileChange(
            kind="update",
            path="b.py",
            to="c.py",
            hunks=(
                Hunk(
                    context=("class A:", "def f(self):"), old=("        return 1",), new=("        return 2",)
                ),
                Hunk(context=(), old=("tail",), new=("tail", "added"), at_end=True),
            ),
        ),
        FileChange(kind="delete", path="d.txt"),
    )


def test_named_places_say_which_of_several_is_meant() -> None:
    text = (
        "class B:\n    def f(self):\n        return 1\n\nclass A:\n    def f(self):\n        return 1\ntail\n"
    )
    change = parse(PATCH)[1]
    assert (
        apply(text, change)
        == "class B:\n    def f(self):\n        return 1\n\nclass A:\n    def f(self):\n        return 2\ntail\nadded\n"
    )


def update(*lines: str) -> FileChange:
    return parse("\n".join(["*** Update File: x", *lines]))[0]


def test_lines_are_added_deleted_and_kept() -> None:
    text = "a\nb\nc\nd\n"
    assert apply(text, update("@@", " a", "-b", "+B", "+BB", " c")) == "a\nB\nBB\nc\nd\n"
    assert apply(text, update("@@", "-b", "-c")) == "a\nd\n"
    assert apply(text, update("@@ b", "+new")) == "a\nb\nnew\nc\nd\n"
    assert apply(text, update("@@", "+last", "*** End of File")) == "a\nb\nc\nd\nlast\n"
    assert apply("a\nb\n\na\nb\n", update("@@", " a", "-b", "+c", "*** End of File")) == "a\nb\n\na\nc\n"


def test_a_hunk_with_other_spacing_still_fits() -> None:
    assert (
        apply("if x:\n        y()\n", update("@@", " if x:", "-    y()", "+    z()"))
        == "if x:\n        z()\n"
    )


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        ("nothing", "no \\*\\*\\* Add File"),
        ("*** Add File: a\nno plus", "starts with \\+"),
        ("*** Update File: a", "changes nothing"),
        ("*** Update File: a\n@@ x", "no lines after"),
        ("*** Update File: a\n@@\nbad line", "space, - or \\+"),
        ("*** Delete File: a\n+x", "no lines of its own"),
        ("*** Delete File: a\n*** Add File: a\n+x", "changed twice"),
        ("*** Rename File: a\n", "not understood|no \\*\\*\\*"),
    ],
)
def test_a_patch_that_cannot_be_read_says_where(patch: str, reason: str) -> None:
    with pytest.raises(BadPatch, match=reason):
        parse(patch)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (("@@", "-missing", "+x"), "x, hunk 1: the block was not found"),
        (("@@", "-a", "+x"), "fits 2 places"),
        (("@@ nowhere", "-a", "+x"), "line after @@ was not found"),
        (("@@", " a"), "no line starts"),
    ],
)
def test_a_hunk_that_does_not_fit_one_place_is_refused(lines: tuple[str, ...], reason: str) -> None:
    with pytest.raises(BadPatch, match=reason):
        apply("a\nb\na\n", update(*lines))


def test_a_diff_says_what_is_there_before_and_after() -> None:
    assert (
        unified("a\nb\n", "a\nc", "x/y")
        == "--- a/x/y\n+++ b/x/y\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n"
    )
    assert unified(None, "n\n", "/x") == "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+n\n"
    assert unified("o\n", None, "/x") == "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-o\n"
    assert unified("same\n", "same\n", "x") == ""
