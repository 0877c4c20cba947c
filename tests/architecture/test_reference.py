"""The pages of the reference that are made from the code are what the code says."""

import re
from types import ModuleType
from typing import get_args

import pytest
from reference import FOLDER, PAGES

import hermes
import hermes.sync
import hermes.testing
from hermes.apps.settings import known_keys
from hermes.types import error, event


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_the_code_says(name: str) -> None:
    assert (FOLDER / name).read_text() == PAGES[name](), "run .venv/bin/python scripts/reference.py"


def test_every_setting_has_a_row_with_words() -> None:
    keys = PAGES["settings.md"]().partition("\n| field ")[0]
    rows = [line.split(" | ") for line in keys.splitlines() if line.startswith("| `")]
    told = {row[0].strip("| `"): row[-1].strip(" |") for row in rows if len(row) == 4}
    assert {one.key for one in known_keys()} == told.keys()
    assert [key for key, words in told.items() if not words] == []


READ = re.compile(r"\benviron(?:ment\(\))?(?:\.get\(|\[)\s*['\"](\w+)['\"](?!\]\s*=[^=])")


def test_every_variable_that_the_code_reads_has_its_row() -> None:
    sources = [path.read_text() for path in (FOLDER.parents[1] / "src").rglob("*.py")]
    read = {name for source in sources for name in READ.findall(source)}
    page = PAGES["settings.md"]()
    assert "HERMES_CACHE" in read
    assert sorted(name for name in read if f"\n| `{name}` | " not in page) == []


def test_every_event_has_its_heading_and_words() -> None:
    page = PAGES["events.md"]()
    assert [one.__name__ for one in get_args(event.Event) if f"\n### {one.__name__}\n\n" not in page] == []
    assert "\n\n\n" not in page


def test_every_error_has_its_heading_and_words() -> None:
    page = PAGES["errors.md"]()
    errors = [
        name for name, one in vars(error).items() if isinstance(one, type) and issubclass(one, Exception)
    ]
    assert [name for name in errors if f"\n## {name}\n\n" not in page] == []


@pytest.mark.parametrize("module", [hermes, hermes.sync, hermes.testing], ids=lambda module: module.__name__)
def test_every_public_name_has_its_heading_and_words(module: ModuleType) -> None:
    part = PAGES["api.md"]().split(f"\n## {module.__name__}\n")[1].split("\n## ")[0]
    assert [one.split("\n")[0].strip() for one in part.split("\n### ")[1:]] == list(module.__all__)
    assert [name for name in module.__all__ if not getattr(module, name).__doc__] == []
