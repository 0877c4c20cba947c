"""Print what a page of HTML says: what it tells of author and date, its text, the addresses it links to.

page_text.py FILE [--links]
"""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

SILENT = {"script", "style", "noscript", "svg", "template", "nav", "footer", "form"}
BLOCKS = {
    "p",
    "div",
    "li",
    "tr",
    "br",
    "section",
    "article",
    "table",
    "ul",
    "ol",
    "blockquote",
    "pre",
    "dt",
    "dd",
}
HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
TOLD = re.compile(r"author|date|time|modified|published|description|site_name", re.IGNORECASE)


class Page(HTMLParser):
    """Collects the text as it comes; what stands in menus and programs is left out."""

    def reset(self) -> None:
        super().reset()
        self.parts: list[str] = []
        self.told: dict[str, str] = {}
        self.links: list[str] = []
        self._silent: list[str] = []
        self._data = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        name = found.get("property") or found.get("name") or found.get("itemprop") or ""
        if tag == "meta" and TOLD.search(name):
            self.told[name] = found.get("content", "")
        elif tag == "time" and found.get("datetime"):
            self.told.setdefault("time", found["datetime"])
        elif tag == "a" and found.get("href", "").startswith("http"):
            self.links.append(found["href"])
        self._data = tag == "script" and "ld+json" in found.get("type", "")
        if tag in SILENT:
            self._silent.append(tag)
        elif tag in BLOCKS or tag in HEADINGS or tag == "title":
            self.parts.append("\n" + HEADINGS.get(tag, "- " if tag == "li" else ""))
        elif tag in {"td", "th"}:
            self.parts.append(" | ")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._silent:
            del self._silent[self._silent.index(tag) :]
        elif tag in BLOCKS or tag in HEADINGS or tag == "title":
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if self._data:
            self._data = False
            for name, value in re.findall(r'"(date\w+)"\s*:\s*("[^"]*")', data):
                self.told[name] = str(json.loads(value))
        elif not self._silent:
            self.parts.append(re.sub(r"\s+", " ", data))


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    raw = Path(sys.argv[1]).read_bytes()
    declared = re.search(rb"charset=[\"']?([\w-]+)", raw[:4096])
    page = Page()
    try:
        text = raw.decode(declared[1].decode() if declared else "utf-8", "replace")
    except LookupError:
        text = raw.decode("utf-8", "replace")
    page.feed(text)
    for name, value in page.told.items():
        print(f"{name}: {value:.300}")
    lines = [line.strip() for line in "".join(page.parts).split("\n")]
    print("\n".join(line for line in lines if line.strip("#-| ")))
    if "--links" in sys.argv[2:]:
        print("\n".join(dict.fromkeys(page.links)))


if __name__ == "__main__":
    main()
