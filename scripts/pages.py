"""The pages of the project and the links in them; as a program it names each link that leads nowhere.

Run it from anywhere: python scripts/pages.py. Addresses of other hosts are not looked at.
"""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_CODE = re.compile(r"^ *```.*?^ *```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_FENCED = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?P<before>!?\[(?P<words>(?:[^\[\]]|\[[^\]]*\])*)\])\((?P<target>[^()\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
_ELSEWHERE = ("https://", "http://", "mailto:")


def pages(root: Path = ROOT) -> list[Path]:
    """Every page: those at the top, then those of docs."""
    return [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]


def slug(heading: str, separator: str = "-") -> str:
    """The anchor of a heading, as repositories make it: words and dashes in lower case."""
    words = _LINK.sub(lambda link: link["words"], heading)
    return re.sub(r"[^\w\- ]", "", words.strip().lower()).replace(" ", separator)


def anchors(text: str) -> set[str]:
    """The anchors of a page; a heading that is there again has a number."""
    found: set[str] = set()
    for heading in _HEADING.findall(_FENCED.sub("", text)):
        name, number = slug(heading), 0
        while name in found:
            number += 1
            name = f"{slug(heading)}-{number}"
        found.add(name)
    return found


def with_links(text: str, change: Callable[[re.Match[str]], str]) -> str:
    """The text with each of its links changed; what stands in code is none."""
    code = [found.span() for found in _CODE.finditer(text)]

    def changed(link: re.Match[str]) -> str:
        inside = any(begin <= link.start() and link.end() <= end for begin, end in code)
        return link[0] if inside else change(link)

    return _LINK.sub(changed, text)


def broken(root: Path = ROOT) -> Iterator[str]:
    """A line for each link that leads to no file, folder or heading."""
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        found: list[re.Match[str]] = []
        with_links(text, lambda link, found=found: found.append(link) or link[0])  # type: ignore[misc]
        for link in found:
            if not _leads(page, link["target"]):
                line = text.count("\n", 0, link.start()) + 1
                yield f"{page.relative_to(root)}:{line}: {link['target']} leads nowhere"


def _leads(page: Path, target: str) -> bool:
    if target.startswith(_ELSEWHERE):
        return True
    file, _, anchor = target.partition("#")
    there = (page.parent / file) if file else page
    if not there.exists():
        return False
    return not anchor or (there.suffix == ".md" and anchor in anchors(there.read_text(encoding="utf-8")))


def main() -> None:
    """Print what leads nowhere; exit code 1 where something does."""
    found = list(broken())
    print("\n".join(found) or f"{len(pages())} pages, every link in them leads somewhere")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
