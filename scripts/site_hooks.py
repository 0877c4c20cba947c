"""What mkdocs does for us beyond its own: pages from outside docs, links that lead there, colours of code."""

import re
import sys
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pygments.formatters import HtmlFormatter

sys.path.insert(0, str(Path(__file__).parent))
from pages import ROOT, slug, with_links  # beside this file, wherever mkdocs loads it from

OUTSIDE = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "design/architecture.md",
    "CONTRIBUTING.md": "design/contributing.md",
    "CHANGELOG.md": "reference/changes.md",
}
LAYOUT = """
.wy-nav-content { max-width: 1100px; }
.wy-table-responsive table td, .wy-table-responsive table th { white-space: normal; }
.wy-table-responsive table td:last-child { min-width: 16em; }
"""
"""Rows of a table are sentences: they wrap, and have room, also on a narrow screen, where it scrolls."""
_AFTER_LANGUAGE = re.compile(r"^( *```\w+) .*$", re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Anchors are those of the repository."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = slug
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The pages at the top of the repository, and what ours look like beyond the theme."""
    for source, place in OUTSIDE.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, place, content=text))
    colours = HtmlFormatter().get_style_defs(".codehilite")
    files.append(File.generated(config, "pages.css", content=colours + LAYOUT))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Links lead to pages of the site; one to a source file is its path in code."""
    place = page.file.src_uri
    text = with_links(markdown, lambda link: _link(place, link))
    return _AFTER_LANGUAGE.sub(r"\1", text)


def _link(place: str, link: re.Match[str]) -> str:
    target = link["target"]
    if "://" in target or target.startswith("#"):
        return link[0]
    file, mark, anchor = target.partition("#")
    source = _source(place)
    path = (ROOT / source).parent.joinpath(file).resolve().relative_to(ROOT)
    on_site = OUTSIDE.get(str(path)) or (str(path.relative_to("docs")) if path.parts[0] == "docs" else "")
    if not on_site or (ROOT / path).is_dir():
        return link["words"] if f"`{path}`" in link["words"] else f"{link['words']} (`{path}`)"
    return f"{link['before']}({_from(place, on_site)}{mark}{anchor})"


def _source(place: str) -> str:
    """Where in the repository the text of a page of the site is."""
    return next((source for source, other in OUTSIDE.items() if other == place), f"docs/{place}")


def _from(page: str, other: str) -> str:
    up = "../" * (len(PurePosixPath(page).parts) - 1)
    return f"{up}{other}"
