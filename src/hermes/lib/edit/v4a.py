"""Read multi-file patches in the V4A form and apply their hunks to texts; nothing here touches a file."""

from typing import Final, Literal

from msgspec import Struct

from hermes.lib.edit.cascade import NoMatch, replace_text

_BEGIN: Final = "*** Begin Patch"
_END: Final = "*** End Patch"
_HEADERS: Final = {"*** Add File: ": "add", "*** Update File: ": "update", "*** Delete File: ": "delete"}
_MOVE: Final = "*** Move to: "
_END_OF_FILE: Final = "*** End of File"


class BadPatch(ValueError):
    """The patch cannot be read or does not fit; the message is for the model."""


class Hunk(Struct, frozen=True, kw_only=True):
    """Lines to find and lines to put there; `context` are the places named after `@@`, from the outside
    in.
    """

    context: tuple[str, ...]
    old: tuple[str, ...]
    new: tuple[str, ...]
    at_end: bool = False


class FileChange(Struct, frozen=True, kw_only=True):
    """One file's part: `text` is a new file's content, `to` the new path of a moved one."""

    kind: Literal["add", "update", "delete"]
    path: str
    text: str = ""
    to: str = ""
    hunks: tuple[Hunk, ...] = ()


def parse(patch: str) -> tuple[FileChange, ...]:
    """The changes of a patch, in order; BadPatch names the line that cannot be read.

    The Begin and End lines may be missing.
    """
    lines = patch.replace("\r\n", "\n").strip("\n").split("\n")
    first = next(
        (number for number, line in enumerate(lines) if line.startswith("*** ") and line.strip() != _BEGIN),
        len(lines),
    )
    changes = []
    body: list[str] = []
    for line in [*lines[first:], _END]:
        if line.strip() == _END or line.startswith(tuple(_HEADERS)):
            if body:
                changes.append(_change(body[0], body[1:]))
            body = []
            if line.strip() == _END:
                break
        body.append(line)
    if not changes:
        raise BadPatch("the patch has no *** Add File, *** Update File or *** Delete File line")
    _no_path_twice(changes)
    return tuple(changes)


def apply(text: str, change: FileChange) -> str:
    """`text` after the hunks of an update; BadPatch when one does not fit exactly one place."""
    start = 0
    for number, hunk in enumerate(change.hunks, start=1):
        text, start = _apply_hunk(text, hunk, start, f"{change.path}, hunk {number}")
    return text


def _no_path_twice(changes: list[FileChange]) -> None:
    seen: set[str] = set()
    for change in changes:
        for path in filter(None, (change.path, change.to)):
            if path in seen:
                raise BadPatch(f"{path} is changed twice; put its hunks into one part")
            seen.add(path)


def _change(header: str, body: list[str]) -> FileChange:
    kind = next((kind for start, kind in _HEADERS.items() if header.startswith(start)), "")
    path = header.partition(": ")[2].strip()
    if not kind or not path:
        raise BadPatch(f"this line is not understood: {header!r}")
    if kind == "add":
        return FileChange(kind="add", path=path, text=_added(path, body))
    if kind == "delete":
        if any(line.strip() for line in body):
            raise BadPatch(f"a deletion has no lines of its own: {path}")
        return FileChange(kind="delete", path=path)
    moved = bool(body) and body[0].startswith(_MOVE)
    hunks = _hunks(path, body[1:] if moved else body)
    if not hunks and not moved:
        raise BadPatch(f"the update of {path} changes nothing")
    return FileChange(
        kind="update", path=path, to=body[0][len(_MOVE) :].strip() if moved else "", hunks=hunks
    )


def _added(path: str, body: list[str]) -> str:
    for line in body:
        if line and not line.startswith("+"):
            raise BadPatch(f"each line of a new file starts with +; in {path} this one does not: {line!r}")
    return "".join(line[1:] + "\n" for line in body)


def _hunks(path: str, body: list[str]) -> tuple[Hunk, ...]:
    hunks: list[Hunk] = []
    context: list[str] = []
    lines: list[str] = []
    for line in body:
        if line.startswith("@@"):
            if lines:
                hunks.append(_hunk(context, lines))
                context, lines = [], []
            context += [place] if (place := line[2:].strip().removesuffix("@@").strip()) else []
        elif line.strip() == _END_OF_FILE or line[:1] in {"", " ", "+", "-"}:
            lines.append(line)
        else:
            raise BadPatch(
                f"each line of a hunk starts with a space, - or +; in {path} this one does not: {line!r}"
            )
    if lines:
        hunks.append(_hunk(context, lines))
    elif context:
        raise BadPatch(f"the last @@ in {path} has no lines after it")
    return tuple(hunks)


def _hunk(context: list[str], lines: list[str]) -> Hunk:
    at_end = lines[-1].strip() == _END_OF_FILE
    lines = [line for line in lines if line.strip() != _END_OF_FILE]
    while lines and not lines[-1]:  # an empty line before the next header belongs to nobody
        lines.pop()
    return Hunk(
        context=tuple(context),
        old=tuple(line[1:] for line in lines if line[:1] in {"", " ", "-"}),
        new=tuple(line[1:] for line in lines if line[:1] in {"", " ", "+"}),
        at_end=at_end,
    )


def _apply_hunk(text: str, hunk: Hunk, start: int, where: str) -> tuple[str, int]:
    """The text after one hunk, and where the next one may begin."""
    start = _after_context(text, hunk.context, start, where)
    old, new = "\n".join(hunk.old), "\n".join(hunk.new)
    if not hunk.old:
        return _inserted(text, new, hunk, start)
    if old == new:
        raise BadPatch(f"{where}: no line starts with + or -")
    try:
        fresh = _replaced(text[start:], old, new, at_end=hunk.at_end, anchored=bool(hunk.context))
    except NoMatch as error:
        raise BadPatch(
            f"{where}: {str(error).replace('old_string', 'the block')}".replace(
                "set replace_all", "name the place after @@"
            )
        ) from error
    return text[:start] + fresh, start


def _after_context(text: str, context: tuple[str, ...], start: int, where: str) -> int:
    """The position behind the last of the named lines, each looked for behind the one before."""
    for place in context:
        lines = text[start:].split("\n")
        hit = next((number for number, line in enumerate(lines) if line.strip() == place), None)
        if hit is None:
            hit = next((number for number, line in enumerate(lines) if place in line), None)
        if hit is None:
            raise BadPatch(f"{where}: the line after @@ was not found: {place!r}")
        start += sum(len(line) + 1 for line in lines[: hit + 1])
    return min(start, len(text))


def _inserted(text: str, new: str, hunk: Hunk, start: int) -> tuple[str, int]:
    """Lines to add where nothing is to be found: behind the named place, or at the end."""
    at = start if hunk.context and not hunk.at_end else len(text)
    before = text[:at] + ("" if not text[:at] or text[:at].endswith("\n") else "\n")
    return f"{before}{new}\n{text[at:]}", len(before) + len(new)


def _replaced(text: str, old: str, new: str, *, at_end: bool, anchored: bool) -> str:
    if at_end and text.rstrip("\n").endswith(old.rstrip("\n")):
        start = len(text.rstrip("\n")) - len(old.rstrip("\n"))
        return text[:start] + replace_text(text[start:], old.rstrip("\n"), new).text
    if anchored and old in text:  # the named place says which of several is meant: the first behind it
        start = _line_start(text, old)
        return text[:start] + new + text[start + len(old) :]
    if f"\n{text}\n".count(f"\n{old}\n") == 1:
        start = f"\n{text}\n".index(f"\n{old}\n")
        return _join(text[:start], new, text[start + len(old) :])
    return replace_text(text, old, new).text


def _line_start(text: str, old: str) -> int:
    at = f"\n{text}".find(f"\n{old}")
    return at if at >= 0 else text.index(old)


def _join(before: str, new: str, after: str) -> str:
    """The parts around a block; when the block becomes nothing, its line end goes too."""
    return before + new + after if new else before + after.removeprefix("\n")
