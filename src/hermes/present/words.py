"""The words for calls, times, tokens: verb and the one argument that matters."""

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from hermes.types.message import ToolCall
from hermes.types.usage import Usage

_VERBS = {
    "terminal": ("run", "💻", ("command",)),
    "process": ("proc", "⚙", ("action", "session_id")),
    "read_file": ("read", "📖", ("path",)),
    "write_file": ("write", "✍", ("path",)),
    "patch": ("edit", "🔧", ("path",)),
    "search_files": ("search", "🔎", ("pattern", "path")),
    "todo": ("plan", "📋", ()),
    "delegate_task": ("child", "🧭", ("goal",)),
    "execute_code": ("code", "🐍", ("code",)),
    "clarify": ("ask", "❓", ("question",)),
}
_PART = re.compile(r"""(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|(?!&&|\|\||;|\n).)+""", re.DOTALL)
_V4A_FILE = re.compile(r"^\*\*\* (?:(Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)
_BECAME = {"Add": "added", "Update": "", "Delete": "deleted"}
_VARIATION = "\ufe0f"  # terminals disagree on the width of an emoji that carries it


class Words(Struct, frozen=True, kw_only=True):
    """A call in words: `argument` is one line, `more` says how many further parts there are, `whole` is
    everything.
    """

    emoji: str
    verb: str
    argument: str
    more: int = 0
    whole: str = ""


def call_words(call: ToolCall, *, emoji: str = "", whole: bool = False) -> Words:
    """The words for a call; `whole` keeps all parts of a command in its argument."""
    verb, own, keys = _VERBS.get(call.name, (" ".join(call.name.replace("_", " ").split()), "⚡", ()))
    sign = (emoji or own).replace(_VARIATION, "")
    if call.name == "terminal":
        command = str(call.arguments.get("command") or "").strip()
        first, *others = [part.strip() for part in _PART.findall(command) if part.strip()] or [""]
        shown = first if others and not whole else " ".join(command.split())
        return Words(emoji=sign, verb=verb, argument=shown, more=0 if whole else len(others), whole=command)
    argument = _argument(call.arguments, keys)
    return Words(emoji=sign, verb=verb, argument=" ".join(argument.split()), whole=argument)


def _argument(arguments: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    named = [str(arguments[key]) for key in keys if arguments.get(key)]
    if not named and keys == ("goal",) and isinstance(arguments.get("tasks"), list):
        return f"{len(arguments['tasks'])} tasks"
    if named:
        return " ".join(named)
    if patched := _patched(str(arguments.get("patch", ""))):
        return patched
    return next((value for value in arguments.values() if isinstance(value, str)), "")


def _patched(patch: str) -> str:
    """The files of a patch: how many, what becomes of them where they do not just change, and their
    names.
    """
    files: list[tuple[str, str]] = []
    for kind, path in _V4A_FILE.findall(patch):
        if kind:
            files.append((path, _BECAME[kind]))
        elif files:
            files[-1] = (f"{files[-1][0]} → {path}", "moved")
    counts = Counter(became for _, became in files if became)
    names, several = ", ".join(path for path, _ in files), len(files) > 1
    told = ", ".join(f"{counts[one]} {one}" if several else one for one in sorted(counts))
    if several:
        return f"{len(files)} files{f' ({told})' if told else ''}: {names}"
    return f"{names} ({told})" if told else names


def tokens(count: int) -> str:
    """A count of tokens in short: 321, 4.3k, 128k, 1.2M."""
    for limit, unit in ((1_000_000, "M"), (1000, "k")):
        if count >= limit:
            value = f"{count / limit:.1f}" if count < 100 * limit else f"{count / limit:.0f}"
            return value.removesuffix(".0") + unit
    return str(count)


def money(usage: Usage) -> str:
    """What was paid, as far as prices are known: `$0.0123`, `$0.01 and 3k tokens of unknown price`,
    `free`.
    """
    paid = dollars(usage.cost) if usage.cost else ""
    unknown = f"{tokens(usage.unpriced)} tokens of unknown price" if usage.unpriced else ""
    return " and ".join(filter(None, (paid, unknown))) or "free"


def dollars(amount: float) -> str:
    """US dollars with as many digits as tell something."""
    return f"${amount:,.2f}" if amount >= 1 else f"${amount:.4f}"


def short_path(path: Path, home: Path) -> str:
    """A path with `~` for the home directory."""
    return "~" if path == home else f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def cut_path(path: str, width: int) -> str:
    """The end of a path in so many columns, which says more than its beginning."""
    return path if len(path) <= width else f"…{path[1 - width :]}"
