"""The site has every page in its part, is built without a warning, and a browser loads all of it from one place."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from pages import ROOT, anchors, broken, slug, with_links
from ruamel.yaml import YAML

PARTS = {
    "start": "Start",
    "guide": "Guide",
    "reference": "Reference",
    "design": "Design",
    "decisions": "Design",
}
FROM_OUTSIDE = {"index.md", "design/architecture.md", "design/contributing.md", "reference/changes.md"}
LOADED = {
    ("script", "src"),
    ("link", "href"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("object", "data"),
}
COMMENT = re.compile(r"/\*.*?\*/|(?<![:\"'\\])//[^\n]*", re.DOTALL)
ELSEWHERE = re.compile(
    r"""(?:url\(\s*["']?|@import\s+["']|["'`])((?:https?:)?//[\w.-]+\.[a-z]{2,}[^"'`)\s]*)"""
)


class Loads(HTMLParser):
    """What a browser loads by itself where it shows a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if (tag, name) in LOADED]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def listed(entries: list[dict[str, object]], part: str = "") -> Iterator[tuple[str, str]]:
    """The part and the file of each page of the navigation."""
    for entry in entries:
        for title, below in entry.items():
            if isinstance(below, list):
                yield from listed(below, part or title)
            else:
                yield part, str(below)


def test_every_page_has_one_place_in_the_navigation_in_the_part_of_its_folder() -> None:
    told = list(listed(YAML().load(ROOT / "mkdocs.yml")["nav"]))
    there = [str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")]
    wanted = {(PARTS[page.split("/")[0]], page) for page in there}
    assert sorted(one for one in told if one[1] not in FROM_OUTSIDE) == sorted(wanted)
    assert {page for _, page in told} >= FROM_OUTSIDE


def test_the_first_page_is_one_page_and_leads_to_every_part() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 90
    assert [part for part in set(PARTS.values()) if f"| {part} | [" not in text] == []


def test_the_check_of_links_names_files_and_headings_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "# One `two`, three\n[a](b.md) [c](a.md#one-two-three)\n[d](#gone) `[e](f.md)`\n"
    )
    assert list(broken(tmp_path)) == ["a.md:2: b.md leads nowhere", "a.md:3: #gone leads nowhere"]


def test_anchors_are_those_of_the_repository() -> None:
    assert slug("What `-z` says, and [why](a.md)?") == "what--z-says-and-why"
    assert anchors("# A\n## A\n```\n# no\n```\n") == {"a", "a-1"}
    assert with_links("`[a](b)` [a](b)", lambda link: link["target"]) == "`[a](b)` b"


def test_a_browser_loads_nothing_from_another_host(site: Path) -> None:
    found = []
    for file in site.rglob("*"):
        if file.suffix == ".html":
            page = Loads()
            page.feed(file.read_text())
            found += [(file.name, one) for one in page.found if "//" in one]
            scripts = re.findall(r"<script[^>]*>(.*?)</script>", file.read_text(), re.DOTALL)
            found += [(file.name, one) for one in ELSEWHERE.findall(COMMENT.sub("", "\n".join(scripts)))]
        elif file.suffix in {".js", ".css", ".svg"}:
            text = COMMENT.sub("", file.read_text(encoding="utf-8"))
            found += [(file.name, one) for one in ELSEWHERE.findall(text) if "www.w3.org" not in one]
    assert found == []


def test_the_search_for_other_hosts_finds_them() -> None:
    text = 'a = \'https://fonts.example.com/x\'; // see "https://notes.example.com"\n@import "//cdn.example.com/y"'
    assert ELSEWHERE.findall(COMMENT.sub("", text)) == ["https://fonts.example.com/x", "//cdn.example.com/y"]


def test_the_search_knows_every_page_and_its_words(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text())
    known = {one["location"].partition("#")[0] for one in index["docs"]}
    built = {
        str(file.relative_to(site))
        for file in site.rglob("*.html")
        if file.name not in {"404.html", "search.html"}
    }
    assert known == built
    assert (site / "search" / "lunr.js").exists()
    assert any("bubblewrap" in one["text"] for one in index["docs"])


def test_every_block_of_code_is_one_on_the_site(site: Path) -> None:
    """A fence in a list is none there: what it should hold would stand as text."""
    assert [file.name for file in site.rglob("*.html") if "```" in file.read_text()] == []


def test_rows_of_tables_wrap(site: Path) -> None:
    """The theme keeps each cell on one line; here they hold sentences."""
    assert "white-space: normal" in (site / "pages.css").read_text()
    assert 'pages.css" rel="stylesheet"' in (site / "reference" / "settings.html").read_text()


def test_code_has_colours_and_a_link_to_a_source_file_is_its_path(site: Path) -> None:
    assert '<span class="kn">import</span>' in (site / "guide" / "library.html").read_text()
    page = (site / "guide" / "sandbox.html").read_text()
    assert "<code>src/hermes/data/sensitive.toml</code>" in page
    assert "../../src" not in page
