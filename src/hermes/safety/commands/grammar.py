"""The bash grammar: trees of command lines, and the readings that the grammar itself gets wrong."""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Final

from hermes.lib.lazy import import_object
from hermes.safety.commands.expansion import masked, unmasked

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser

_BRACED_COMMAND: Final = re.compile(r"((?:^|[;&|(\n])\s*)\{([^\s{},]*(?:,[^\s{},]*)+)\}")

_DEFAULT: Final = re.compile(r"\$\{\w+:?[-=]([^\s{}()\"'`\\]+)\}")
_TIMED_GROUP: Final = re.compile(r"((?:^|[;&|(\n])[ \t]*)time(?:[ \t]+-p)?[ \t]+(?=[({])")
_FORKS: Final = re.compile(r"(?<![<>&])&(?![&>])")
_ENDLESS: Final = re.compile(
    r"""(?:while\s+(?:["'\\]*(?:/\S+/)?(?:true|:)["']*"""
    r"""|\[\[? +(?:1|true) +\]\]?|\(\(\s*1?\s*\)\)|test 1|sleep\s[^;&|]*)"""
    r"""|until\s+["'\\]*(?:/\S+/)?false["']*)\s*[;\n]"""
    r"|for\s*\(\(\s*;\s*;\s*\)\)"
)


def parse(text: str) -> "Node":
    """The root of a command line's tree."""
    return _parser().parse(masked(text)).root_node


def straight(text: str) -> str:
    """The text without what changes nothing but confuses the grammar: broken lines, where nothing keeps them,
    and `time` before a group.
    """
    if "\\\n" in text and not re.search(r"[#']|<<", text):
        text = text.replace("\\\n", "")
    return _TIMED_GROUP.sub(r"\1", text) if "time" in text else text


def other_readings(text: str, root: "Node") -> Iterator[str]:
    """The same text as the grammar should have read it, where it is known to err; both readings count."""
    if "\\\n" in text:  # joined lines may hide a word, and a comment does not join lines
        yield text.replace("\\\n", "")
    if "\n\\" in text:  # a line that begins with a backslash is a line of its own
        yield re.sub(r"\n(?=\\)", "\n ", text)
    if root.has_error and "((" in text:  # what is no arithmetic is a subshell in a subshell
        yield re.sub(r"\((?=\()", "( ", text)
    if (
        root.has_error and (closing := re.sub(r"\d*[<>]&-", " ", text)) != text
    ):  # a closed descriptor says nothing
        yield closing
    if (
        root.has_error
        and (spread := _BRACED_COMMAND.sub(lambda found: found[1] + found[2].replace(",", " "), text)) != text
    ):
        yield spread
    if _DEFAULT.search(text):  # the variable may be empty
        yield _DEFAULT.sub(r"\1", text)
    if re.search(r"\$\w+[^\s\"'$]+\$\w", text):  # a second expansion in one word
        yield re.sub(r"\$([A-Za-z_]\w*|\d)", r"${\1}", text)


def nodes(node: "Node", kind: str) -> "Iterator[Node]":
    """The topmost nodes of a kind at or below a node."""
    if node.type == kind:
        yield node
        return
    for child in node.named_children:
        yield from nodes(child, kind)


def without_comments(source: str) -> str:
    """A command line without what the shell does not read."""
    data = masked(source)
    kept, end = [], 0
    for comment in nodes(_parser().parse(data).root_node, "comment"):
        kept.append(data[end : comment.start_byte])
        end = comment.end_byte
    return unmasked(b"".join([*kept, data[end:]])).strip()


@cache
def _language() -> "Language":
    language: Language = import_object("tree_sitter:Language")(import_object("tree_sitter_bash:language")())
    return language


def _parser() -> "Parser":
    parser: Parser = import_object("tree_sitter:Parser")(_language())
    return parser


def is_endless(node: "Node") -> bool:
    """Whether a loop has no end of its own, and runs behind what comes after it or starts things without
    waiting for them.
    """
    text = (node.text or b"").decode("ascii", "replace")
    if node.type not in {"while_statement", "c_style_for_statement"} or not _ENDLESS.match(text):
        return False
    if _FORKS.search(text) and not re.search(r"\b(?:wait|break|exit|return)\b", text):
        return True
    inner: Node | None = node
    while inner is not None and inner.type not in {"program", "function_definition"}:
        if inner.next_sibling is not None and inner.next_sibling.type == "&":
            return True
        inner = inner.parent
    return False
