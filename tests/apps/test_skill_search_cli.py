"""`hermes skills search`, as a program: many places at once, taps, and a skill looked at before it is installed."""

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apps.conftest import Run
from tests.hub_pages import Page, hub_pages

GOOD = (
    "---\nname: good\ndescription: Does good\nprerequisites: {env_vars: [GOOD_TOKEN]}\n---\n1. `git diff`\n"
)


def zipped(text: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("SKILL.md", text)
        archive.writestr("scripts/say.sh", "echo good\n")
    return made.getvalue()


@pytest.fixture
def pages() -> dict[str, Page]:
    return {
        "/api/v1/search?q=good+one&limit=100&nonSuspiciousOnly=true": {
            "results": [{"slug": "good", "summary": "Does \x1b[31mgood"}]
        },
        "/api/v1/download?slug=good": zipped(GOOD),
    }


@pytest.fixture(autouse=True)
def web(pages: dict[str, Page], environ: dict[str, str]) -> Iterator[str]:
    with hub_pages(pages, []) as address:
        home = Path(environ["HERMES_HOME"])
        home.mkdir()
        hubs = {"clawhub": address, "lobehub": address, "marketplaces": [], "github": "file:///none"}
        (home / "config.yaml").write_text(json.dumps({"skills": {"hubs": hubs}}))
        yield address


def test_what_is_found_is_installed_by_the_words_that_are_shown(
    web: str, pages: dict[str, Page], environ: dict[str, str], run: Run
) -> None:
    assert run("skills", "tap", "remove", "openai/skills").stdout == "openai/skills is searched no longer.\n"
    found = run("skills", "search", "good", "one")
    assert (found.returncode, found.stdout) == (0, "clawhub:good  community  -  Does good\n")
    assert [row.partition(": git")[0] for row in found.stderr.splitlines()] == [
        "anthropics/skills: anthropics/skills cannot be fetched",
        f"lobehub: {web.removeprefix('http://')} has no /api/v1/skills.",
    ]
    rows = run("skills", "search", "good", "one", "--source", "clawhub", "--json").stdout
    assert json.loads(rows) == {
        "source": "clawhub:good",
        "trust": "community",
        "guard": "-",
        "description": "Does \x1b[31mgood",
    }
    looked = run("skills", "inspect", "clawhub:good")
    assert looked.stdout.splitlines() == [
        "name         good",
        "description  Does good",
        "from         clawhub:good (community)",
        "files        SKILL.md, scripts/say.sh",
        "needs        the variable GOOD_TOKEN is not set",
        "guard        safe",
    ]
    place = Path(environ["HERMES_HOME"], "skills", "good")
    assert not place.exists()
    done = run("skills", "install", "clawhub:good", "-y")
    how = f"The skill good needs GOOD_TOKEN. A line GOOD_TOKEN=… in {environ['HERMES_HOME']}/.env sets it."
    assert (done.returncode, done.stderr) == (0, f"good: safe\n{how}\n")
    assert run("skills", "list").stdout.splitlines()[0].endswith("Does good (needs GOOD_TOKEN)")
    assert (place / "SKILL.md").read_text() == GOOD
    assert run("skills", "check").stdout == "good: up to date\n"
    pages["/api/v1/download?slug=good"] = zipped(GOOD + "2. Say.\n")
    assert run("skills", "check", "good").stdout == "good: changed at its source\n"
    assert run("skills", "update").stdout == "good: updated\n"
    assert run("skills", "inspect", "good").stdout.splitlines()[2] == "from         clawhub:good"


def test_a_search_that_no_place_answers_fails(run: Run) -> None:
    done = run("skills", "search", "nothing")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        1,
        "hermes: None of the places could be searched.",
    )


def test_taps_are_listed_added_and_removed(environ: dict[str, str], run: Run) -> None:
    assert run("skills", "tap", "list").stdout == "openai/skills\nanthropics/skills\n"
    assert run("skills", "tap", "add", "me/skills").stdout == "me/skills is searched from now on.\n"
    file = Path(environ["HERMES_HOME"], "skills", ".hub", "taps.json")
    assert json.loads(file.read_text()) == ["openai/skills", "anthropics/skills", "me/skills"]
    for words, told in (
        (("add", "me/skills"), "hermes: me/skills is a tap already.\n"),
        (
            ("add", "no tap"),
            "hermes: 'no tap' is no repository: name owner/repository, or an https address.\n",
        ),
        (("remove", "you/skills"), "hermes: 'you/skills' is no tap; hermes skills tap list has them.\n"),
    ):
        done = run("skills", "tap", *words)
        assert (done.returncode, done.stderr) == (1, told)
    file.write_text("[]")
    done = run("skills", "tap", "list")
    none = "There are no taps; hermes skills tap add REPOSITORY adds one.\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, "", none)
    file.write_text("{")
    done = run("skills", "tap", "list")
    assert (done.returncode, done.stderr.startswith(f"hermes: {file} cannot be read: ")) == (1, True)


def test_an_agent_adds_no_tap(run: Run) -> None:
    done = run("skills", "tap", "add", "me/skills", HERMES_SANDBOXED="1")
    assert (done.returncode, "This runs in a command that Hermes has started" in done.stderr) == (2, True)
