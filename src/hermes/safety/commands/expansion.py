"""The values of shell words, as far as they can be known without running anything."""

import posixpath
import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from hermes.safety.commands.known_output import printed, unescaped
from hermes.types.error import BeyondReading

if TYPE_CHECKING:
    from tree_sitter import Node

UNKNOWN: Final = "\0"
"""Stands in a value for a part that only running the command would tell; no command can contain it."""

NOT_EMPTY: Final = f"{UNKNOWN}?"
"""Likewise, of a part that is some letters at least."""

_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]|Z(?=q7u)")  # and the beginning of what stands for them
_MASKED: Final = re.compile(r"Zq7u([0-9a-f]{1,6})q")
_CUT: Final = re.compile(r"\$\{(\w+)(%%?|##?)([\w.*/?-]+)\}")
_NAMED: Final = re.compile(r"[A-Za-z_]\w*=(?=~)")
_SUBSTITUTED: Final = re.compile(r"\$\((.*)\)|`(.*)`", re.DOTALL)
_LISTED: Final = re.compile(r"\{([^{}]*,[^{}]*)\}")
_MOST_WORDS: Final = 2_000
_EACH: Final = 8
_NAME: Final = re.compile(r"\w[\w.-]*")
_LONGEST_VALUE: Final = 200_000


class VariableScope(Struct):
    """What is known at a point of a script: variables, arrays (`@` holds the positional words), aliases, the
    directory.

    `made` has the source of each variable's value.
    """

    cwd: str
    variables: dict[str, str] = field(default_factory=dict)
    arrays: dict[str, list[str]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    functions: "dict[str, Node]" = field(default_factory=dict)
    made: dict[str, str] = field(default_factory=dict)

    def copy(self) -> "VariableScope":
        """A scope whose changes stay in it, as a subshell's do."""
        return replace(
            self,
            variables=dict(self.variables),
            arrays=dict(self.arrays),
            aliases=dict(self.aliases),
            functions=dict(self.functions),
            made=dict(self.made),
        )

    def texts(self) -> list[str]:
        """All values that are known."""
        return [*self.variables.values(), *(word for words in self.arrays.values() for word in words)]

    def take_over(self, words: Sequence[str]) -> None:
        """Take over what a builtin changes for the commands after it."""
        match words:
            case ["cd" | "pushd" | "popd" | "chdir", *_]:
                self._move(words)
            case ["alias", *given]:
                self.aliases |= dict(word.split("=", 1) for word in given if "=" in word)
            case ["set", "--", *given]:
                self.arrays["@"] = [*given]
            case ["printf", "-v", *given] | [
                "read" | "mapfile" | "readarray" | "getopts" | "unset" | "let",
                *given,
            ]:
                names = [word for word in given if word.isidentifier() and word != "PWD"]
                self.variables |= dict.fromkeys(names, UNKNOWN)
                self.made |= dict.fromkeys(names, "$(read)" if words[0] == "read" else "")

    def _move(self, words: Sequence[str]) -> None:
        targets = [word for word in words[1:] if not word.startswith("-") or word == "-"]
        if words[0] == "popd" or targets == ["-"]:
            self.cwd = UNKNOWN
        elif targets:
            self.cwd = str(PurePosixPath(self.cwd) / targets[0]) if UNKNOWN not in targets[0] else UNKNOWN
        else:
            self.cwd = self.variables.get("HOME", UNKNOWN)


def substituted(texts: Iterable[str]) -> list[str]:
    """The commands that a shell runs which takes texts for words, or for names and numbers: `a[$(…)]`."""
    return [part for text in texts for pair in _SUBSTITUTED.findall(text) for part in pair if part]


def expand(node: "Node", scope: VariableScope) -> list[str]:
    """The words that a word node becomes; mostly one. Unknown parts are `UNKNOWN`."""
    if (listed := _array(node, scope)) is not None:
        return listed
    fields = [""]
    for text, splits in _segments(node, scope):
        if not splits:
            fields[-1] += text
            continue
        pieces = _fields(text, scope.variables.get("IFS", " "))
        fields[-1] += pieces[0]
        fields += pieces[1:]
    quoted = node.type in {"string", "raw_string"}
    words = [_bounded(word) for word in fields if word or quoted]
    return [
        full
        for word in words
        for full in (_braces(word) if node.type in {"word", "concatenation", "brace_expression"} else [word])
    ]


def looked_at(items: Sequence[str]) -> list[str]:
    """The values of a loop's variable that its body is read with: all of few, of many one that is not known
    and those that are more than a name.
    """
    if 0 < len(items) <= _EACH:
        return [*items]
    return [UNKNOWN, *dict.fromkeys(item for item in items if not _NAME.fullmatch(item))]


def _fields(text: str, between: str) -> list[str]:
    """The pieces that an unquoted expansion falls into; unknown where the letters between them are."""
    if UNKNOWN in between:
        return [UNKNOWN]
    return re.split(f"[{re.escape(between.strip())} \t\n]+", text) if between else [text]


def value(node: "Node", scope: VariableScope) -> str:
    """The one value of a word node, not split: what an assignment or a redirection gets."""
    if (listed := _array(node, scope)) is not None:
        return " ".join(listed)
    return _bounded("".join(text for text, _ in _segments(node, scope)))


def masked(text: str) -> bytes:
    """`text` for the parser, with letters and digits in place of what is not ASCII.

    The bash grammar looks characters up in a table that ends long before the last of them: `{` and an emoji
    crash the process.
    """
    return _NOT_ASCII.sub(lambda match: f"Zq7u{ord(match[0]):x}q", text).encode("ascii")


def unmasked(data: bytes) -> str:
    """The text that `masked` has made these bytes of."""
    return _MASKED.sub(lambda match: chr(int(match[1], 16)), data.decode("ascii"))


def text_of(node: "Node") -> str:
    """The source of a node."""
    return unmasked(node.text or b"")


def _segments(node: "Node", scope: VariableScope) -> list[tuple[str, bool]]:
    """Pieces of a word, and whether a piece is split at white space as an unquoted expansion is."""
    kind, source = node.type, text_of(node)
    if (
        kind
        in {"word", "variable_name", "number", "command_name", "regex", "extglob_pattern", "test_operator"}
        and not node.named_children
    ):
        return [(_plain(source, scope), False)]
    if kind == "raw_string":
        return [(source[1:-1], False)]
    if kind == "ansi_c_string":
        return [(unescaped(source[2:-1]), False)]
    if kind in {"concatenation", "command_name"}:
        return _joined(node, scope)
    if kind in {"simple_expansion", "expansion"}:
        return [(_variable(node, scope), True)]
    if kind == "command_substitution":
        return [(_substitution(node, scope), True)]
    return [(_unsplit(node, scope), False)]


def _unsplit(node: "Node", scope: VariableScope) -> str:
    if node.type == "translated_string" and node.named_children:
        return _quoted(node.named_children[0], scope)
    if node.type in {"string", "translated_string"}:
        return _quoted(node, scope)
    return text_of(node) if node.type == "brace_expression" else UNKNOWN


def _joined(node: "Node", scope: VariableScope) -> list[tuple[str, bool]]:
    """The segments of all parts; source between them belongs to the word as well."""
    pieces: list[tuple[str, bool]] = []
    end = node.start_byte
    for child in node.children:
        gap = (node.text or b"")[end - node.start_byte : child.start_byte - node.start_byte]
        if gap:
            pieces.append((unmasked(gap), False))
        pieces += _segments(child, scope) if child.is_named else [(text_of(child), False)]
        end = child.end_byte
    return pieces


def _plain(source: str, scope: VariableScope) -> str:
    if named := _NAMED.match(source):  # as in dd of=~/file
        return named[0] + _plain(source[named.end() :], scope)
    if source == "~" or source.startswith("~/"):
        source = scope.variables.get("HOME", UNKNOWN) + source[1:]
    elif source == "~+" or source.startswith("~+/"):
        source = scope.cwd + source[2:]
    elif source.startswith(("~+", "~-", *(f"~{digit}" for digit in range(10)))):
        source = UNKNOWN
    elif source.startswith("~"):
        source = "/home/" + source[1:]
    return re.sub(r"\\(.)", r"\1", source, flags=re.DOTALL)


def _quoted(node: "Node", scope: VariableScope) -> str:
    """What stands between double quotes: text in which only some escapes count, and expansions."""
    source = (node.text or b"")[:]
    pieces = []
    start = node.start_byte
    end = next((child.end_byte for child in node.children if text_of(child).endswith('"')), start + 1)
    for child in node.children:
        if not child.is_named:
            if text_of(child) not in {'"', '$"'}:
                pieces.append(text_of(child))
            end = max(end, child.end_byte) if text_of(child) == '"' and child.start_byte == start else end
            continue
        gap = unmasked(source[end - start : child.start_byte - start]) if child.start_byte > end else ""
        inner = (
            text_of(child)
            if child.type == "string_content"
            else "".join(text for text, _ in _segments(child, scope))
        )
        pieces.append(
            re.sub(r'\\([$`"\\\n])', r"\1", gap + inner) if child.type == "string_content" else gap + inner
        )
        end = child.end_byte
    return "".join(pieces)


def _variable(node: "Node", scope: VariableScope) -> str:
    names = [child for child in node.children if child.type in {"variable_name", "special_variable_name"}]
    if (
        len(names) == 1
        and not is_bare(node)
        and (found := re.fullmatch(r"\$\{(\w+):?[-?][^{}]*\}", text_of(node)))
    ):
        return scope.variables.get(found[1]) or (NOT_EMPTY if "?" in text_of(node) else UNKNOWN)
    if len(names) == 1 and (cut := _CUT.fullmatch(text_of(node))):
        return _without(scope.variables.get(cut[1], UNKNOWN), cut[2], cut[3])
    if len(names) != 1 or not is_bare(node):
        return UNKNOWN
    name = text_of(names[0])
    if name in {"@", "*"} and "@" in scope.arrays:
        return " ".join(scope.arrays["@"])
    if name.isdecimal() and 0 < int(name) <= len(scope.arrays.get("@", ())):
        return scope.arrays["@"][int(name) - 1]
    return scope.variables.get(name, " " if name == "IFS" else scope.cwd if name == "PWD" else UNKNOWN)


def is_bare(node: "Node") -> bool:
    """Whether an expansion is nothing but a name: `$x`, `${x}`."""
    return {child.type for child in node.children} <= {
        "variable_name",
        "special_variable_name",
        "$",
        "${",
        "}",
    }


def _without(text: str, operator: str, pattern: str) -> str:
    """What a known value is without the beginning (`#`) or the end (`%`) that a pattern fits."""
    if UNKNOWN in text:
        return UNKNOWN
    places = range(len(text) + 1)
    if operator[0] == "#":
        fits = [place for place in places if fnmatchcase(text[:place], pattern)]
        return text[(fits[-1] if len(operator) == 2 else fits[0]) :] if fits else text
    fits = [place for place in places if fnmatchcase(text[place:], pattern)]
    return text[: fits[0] if len(operator) == 2 else fits[-1]] if fits else text


def _array(node: "Node", scope: VariableScope) -> list[str] | None:
    """The words of a node that is nothing but all of a known array, or of the positional words."""
    source = text_of(node).removeprefix('"').removesuffix('"')
    if source in {"$@", "$*", "${@}", "${*}"}:
        return list(scope.arrays.get("@", [UNKNOWN]))
    found = re.fullmatch(r"\$\{(\w+)\[[@*]\]\}", source)
    return None if found is None else list(scope.arrays.get(found[1], [UNKNOWN]))


def _substitution(node: "Node", scope: VariableScope) -> str:
    """The output of a command whose output can be foretold."""
    command = text_of(node).removeprefix("$(").removesuffix(")").strip("` \t\n")
    if command == "pwd":
        return scope.cwd
    if found := re.fullmatch(r"(dirname|basename) ([\w./-]+)", command.replace('"', "")):
        return (posixpath.dirname(found[2]) or ".") if found[1] == "dirname" else posixpath.basename(found[2])
    if re.fullmatch(r"mktemp(?: -d)?(?: -t)?(?: [\w.]+)?", command):
        return "/tmp/mktemp"  # noqa: S108  # a name that stands for what mktemp will make
    inner = node.named_children
    said = _printed(inner[0], scope, None) if len(inner) == 1 else None
    return UNKNOWN if said is None else said.rstrip("\n")


def _printed(node: "Node", scope: VariableScope, given: str | None) -> str | None:
    """What a plain command, or a pipe of such, prints."""
    if node.type == "pipeline":
        for one in node.named_children:
            given = _printed(one, scope, given)
        return given
    if node.type != "command":
        return None
    parts = [part for one in node.named_children for part in _parts(one)]
    words = [word for part in parts for word in expand(part, scope)]
    return printed(words[0], tuple(words[1:]), given) if words else None


def _parts(node: "Node") -> "Sequence[Node]":
    return node.named_children if node.type == "command_name" else [node]


def _braces(word: str) -> list[str]:
    """The words that a word with lists in braces becomes; BeyondReading where they are too many."""
    words = [word]
    while any(_LISTED.search(one) for one in words):
        words = [made for one in words for made in _first_list(one)]
        if len(words) > _MOST_WORDS:
            raise BeyondReading(f"braces make more than {_MOST_WORDS} words")
    return [one for one in words if one]


def _first_list(word: str) -> list[str]:
    found = _LISTED.search(word)
    if found is None:
        return [word]
    return [word[: found.start()] + part + word[found.end() :] for part in found[1].split(",")]


def _bounded(text: str) -> str:
    if len(text) > _LONGEST_VALUE:
        raise BeyondReading(f"a word has more than {_LONGEST_VALUE:,} letters")
    return text


def document_text(body: "Node", scope: VariableScope) -> str:
    """A here-document's text; its expansions as far as they are known."""
    source, start, end, pieces = body.text or b"", body.start_byte, body.start_byte, []
    for child in body.named_children:
        if child.type in {"simple_expansion", "expansion", "command_substitution"}:
            pieces += [unmasked(source[end - start : child.start_byte - start]), value(child, scope)]
            end = child.end_byte
    return "".join([*pieces, unmasked(source[end - start :])])
