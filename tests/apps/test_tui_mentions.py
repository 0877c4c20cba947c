"""What `@file` and a pasted picture bring along, on the screen and in a plain terminal."""

from pathlib import Path

import pytest

from hermes.testing import ScriptedModel, ScriptedServer
from tests.apps.test_tui_program import Place

PNG = b"\x89PNG\r\n\x1a\n"
SOURCE = {"type": "text", "text": "[The file app.py:]\nprint(1)\n"}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize(("env", "ready"), [({}, "? keys"), ({"TERM": "dumb"}, "an empty line leaves")])
def test_a_file_that_a_message_names_goes_with_it(place: Place, env: dict[str, str], ready: str) -> None:
    model = ScriptedModel("one line")
    with (
        ScriptedServer(model).running() as server,
        place.window(server.base_url, 80, 24, "", env) as terminal,
    ):
        terminal.until(ready, 40)
        terminal.type("what is in @app.py ?\r")
        terminal.until("one line")
    assert model.requests[0]["messages"][-1]["content"] == [
        {"type": "text", "text": "what is in @app.py ?"}, SOURCE
    ]  # fmt: skip


def test_a_completed_name_stays_a_mention_and_a_pasted_picture_becomes_one(place: Place) -> None:
    (place.project / "shot.png").write_bytes(PNG)
    model = ScriptedModel("a dot")
    with ScriptedServer(model).running() as server, place.window(server.base_url, 80, 24, "", {}) as terminal:
        terminal.until("? keys", 40)
        terminal.type("see @ap")
        terminal.until("app.py")
        terminal.type("\t")
        terminal.type(f"\x1b[200~{place.project}/shot.png\x1b[201~")
        terminal.until("see @app.py @shot.png")
        terminal.type("\r")
        terminal.until("with app.py, shot.png")
        terminal.until("a dot")
    text, *files = model.requests[0]["messages"][-1]["content"]
    assert text["text"].strip() == "see @app.py @shot.png"
    assert [one["type"] for one in files] == ["text", "image_url"]


def test_a_file_that_was_made_a_moment_ago_is_offered(place: Place) -> None:
    with place.open() as terminal:
        terminal.type("@ap")
        terminal.until("app.py ")
        terminal.type("\x03")
        terminal.until(lambda: "❯ @ap" not in terminal.text)
        (place.project / "brand_new.py").write_text("x" * 10)
        terminal.read(0.6)
        terminal.type("@brand")
        terminal.until("❯ brand_new.py")


def test_a_folder_sends_what_is_in_it_and_a_missing_file_is_said(place: Place) -> None:
    (place.project / "docs" / "inner").mkdir(parents=True)
    (place.project / "docs" / "use.md").write_text("how")
    model = ScriptedModel("seen")
    with (
        ScriptedServer(model).running() as server,
        place.window(server.base_url, 120, 30, "", {}) as terminal,
    ):
        terminal.until("? keys", 40)
        terminal.type("see @docs/ and @gone.md \r")
        terminal.until("with list of docs/")
        terminal.until("There is no file gone.md.")
        terminal.until("seen")
    text, listing = model.requests[0]["messages"][-1]["content"]
    assert text["text"].strip() == "see @docs/ and @gone.md"
    assert listing == {"type": "text", "text": "[The file list of docs/:]\ninner/\nuse.md"}


def test_what_cannot_go_along_is_said_and_the_message_is_sent(place: Place) -> None:
    (place.project / "data.bin").write_bytes(b"\0\xff")
    (place.project / "long.txt").write_text("words " * 100_000)
    model = ScriptedModel("seen")
    with (
        ScriptedServer(model).running() as server,
        place.window(server.base_url, 120, 30, "", {}) as terminal,
    ):
        terminal.until("? keys", 40)
        terminal.type("compare @data.bin and @long.txt\r")
        terminal.until("seen")
        shown = " ".join(terminal.text.split())
    assert "data.bin is neither a picture nor a PDF nor text." in shown
    assert "long.txt is too long to send whole; the model can read it by its name." in shown
    assert model.requests[0]["messages"][-1]["content"].strip() == ("compare @data.bin and @long.txt")
