"""Shift-Tab begins and ends plan mode, which stays in sight."""

from pathlib import Path

from hermes.testing import ScriptedModel, ScriptedServer, call
from tests.apps.test_tui_program import Place


def test_shift_tab_keeps_everything_as_it_is_until_it_is_pressed_again(tmp_path: Path) -> None:
    place = Place(tmp_path)
    write = call("write_file", {"path": "made.txt", "content": "x"})
    model = ScriptedModel(write, "This is the plan.", write, "It is made.")
    with (
        ScriptedServer(model).running() as server,
        place.window(server.base_url, 100, 24, "", {}) as terminal,
    ):
        terminal.until("? keys", 40)
        terminal.type("\x1b[Z")
        terminal.until("plan: nothing changes")
        terminal.type("make it\r")
        terminal.until("This is the plan.")
        assert "✗" in terminal.text
        assert not (place.project / "made.txt").exists()
        terminal.type("\x1b[Z")
        terminal.until(lambda: "plan: nothing changes" not in terminal.text.splitlines()[-1])
        terminal.type("go\r")
        terminal.until("It is made.")
    assert (place.project / "made.txt").read_text() == "x"
