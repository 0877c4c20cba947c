"""Words in Markdown that nobody sees who reads the page made from it: all that its parser gives other than as
text, and text inside HTML that a page may not show.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from typing import Any, Final
from urllib.parse import unquote

from msgspec import Struct

from hermes.lib.lazy import import_object

_UNSHOWN: Final = frozenset(
    {
        *("applet", "audio", "canvas", "datalist", "dialog", "head", "iframe"),
        *("math", "noembed", "noframes", "noscript", "object", "optgroup", "option"),
        *("rp", "script", "select", "style", "svg", "template", "textarea"),
        *("title", "video"),
    }
)
"""The elements of the HTML standard whose text is no text of the page. A name that no standard has is shown
by every browser with what stands in it, and texts for models are parted by such names.
"""
_PLAIN: Final = frozenset(
    {
        *("align", "alt", "border", "cellpadding", "cellspacing", "colspan", "height"),
        *("href", "id", "name", "open", "rel", "rowspan", "src"),
        *("start", "target", "type", "valign", "width"),
    }
)
"""Attributes that hide nothing; a class or a style may."""
_VOID: Final = frozenset(
    {
        *("area", "base", "br", "col", "embed", "hr", "img"),
        *("input", "link", "meta", "source", "track", "wbr"),
    }
)

_CLOSING: Final = re.compile(r"</([a-z][^\s/>]{0,40})")


class UnseenWords(Struct, frozen=True):
    """A stretch of words, where it stands, and the line from 1."""

    line: int
    words: str
    where: str


def unseen(text: str) -> list[UnseenWords]:
    """What of a text in Markdown a reader of its page does not see, one stretch for each place."""
    about: dict[str, Any] = {}
    page = _Page(text.lower())
    for token in import_object("markdown_it:MarkdownIt")("commonmark").parse(text, about):
        page.line = (token.map or [page.line - 1])[0] + 1
        for one in token.children or (token,):
            page.take(one)
    page.close()
    shown = " ".join("".join(page.shown).casefold().split())
    return [*page.unseen, *_defined(about, shown)]


def _defined(about: Mapping[str, Any], shown: str) -> Iterator[UnseenWords]:
    """Words of the definitions of links; the name of one is seen where it is used."""
    every = [
        *about.get("references", {}).items(),
        *((one.get("label", ""), one) for one in about.get("duplicate_refs", ())),
    ]
    for label, one in every:
        line = (one.get("map") or [0])[0] + 1
        name = " ".join(label.casefold().split())
        words = (one["title"], unquote(one["href"]), "" if name in shown else label.lower())
        yield from (UnseenWords(line, each, "the definition of a link") for each in words if each)


class _Page(HTMLParser):
    """Takes the parts of a page in their order, and keeps what is shown apart from what is not."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.line = 1
        self.shown: list[str] = []
        self.unseen: list[UnseenWords] = []
        self._closed = frozenset(_CLOSING.findall(source))
        self._hiding: Counter[str] = Counter()
        self._hidden: list[str] = []
        self._begun = 1

    def take(self, token: Any) -> None:
        """The next part: HTML is read, other text is shown unless HTML around it hides it."""
        if token.type in {"html_inline", "html_block"}:
            self.feed(token.content)
            return
        for value in token.attrs.values():
            self._keep(unquote(str(value)), "the address or title of a link")
        self._keep(token.info.partition(" ")[2], "the mark of a block")
        self.handle_data("\n" if token.type.endswith("break") else token.content)

    def handle_data(self, data: str) -> None:
        (self._hidden if self._hiding else self.shown).append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        odd = [one for one in attrs if one[0] not in _PLAIN]
        if odd:
            self._keep(" ".join(f"{name} {value or ''}" for name, value in odd), "an attribute")
        if tag not in _VOID and (tag in _UNSHOWN or (odd and tag in self._closed)):
            self._begun = self._begun if self._hiding else self.line
            self._hiding[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hiding:
            self._hiding -= Counter((tag,))
            if not self._hiding:
                self._end()

    def handle_comment(self, data: str) -> None:
        self._keep(data, "a comment")

    def handle_decl(self, decl: str) -> None:
        self._keep(decl, "a declaration")

    def unknown_decl(self, data: str) -> None:
        self._keep(data, "a declaration")

    def handle_pi(self, data: str) -> None:
        self._keep(data.rstrip("?"), "a declaration")

    def close(self) -> None:
        """All parts have been taken; what nothing closed hides to the end."""
        if self.rawdata.startswith("<"):
            self._keep(self.rawdata, "a mark that nothing closes")
        else:
            self.handle_data(self.rawdata)
        self._end()

    def _end(self) -> None:
        """What was hidden until here is one stretch."""
        words, self._hidden = "".join(self._hidden), []
        if words.strip():
            self.unseen.append(UnseenWords(self._begun, words, "markup that is not shown"))

    def _keep(self, words: str, where: str) -> None:
        if words.strip():
            self.unseen.append(UnseenWords(self.line, words, where))
