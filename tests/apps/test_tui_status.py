"""What the status line tells: a real program in a real PTY."""

from pathlib import Path

import pytest

from hermes.models.local.catalogue import default
from hermes.testing import call
from tests.apps.test_tui_program import Place


def test_the_items_of_the_status_line_are_a_setting(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (place.home / ".hermes").mkdir()
    (place.home / ".hermes" / "config.yaml").write_text("display: {status: [directory, model]}\n")
    with place.open() as terminal:
        assert terminal.until("(main) · fake-1 · ").split("\n")[-1].startswith("~/project (main) · fake-1 · ")


@pytest.mark.parametrize(("after", "rings"), [("0.5", True), ("60", False)])
def test_the_end_of_a_long_turn_is_told_and_of_a_short_one_not(
    tmp_path: Path, after: str, rings: bool
) -> None:
    place = Place(tmp_path)
    (place.home / ".hermes").mkdir()
    (place.home / ".hermes" / "config.yaml").write_text(
        f"display: {{notify: desktop, notify_after: {after}}}\n"
    )
    with place.open(call("terminal", {"command": "sleep 1"}), "it is done") as terminal:
        terminal.type("go\r")
        terminal.until("it is done")
        terminal.until(lambda: "Esc stops" not in terminal.text)
        terminal.read(0.3)
        assert (b"\x1b]9;hermes has answered after " in terminal.raw) == rings


def test_processes_in_the_background_are_counted_until_they_have_ended(tmp_path: Path) -> None:
    place = Place(tmp_path)
    begun = [
        call("terminal", {"command": f"while [ ! -e {name} ]; do sleep 0.1; done", "background": True})
        for name in ("one", "two")
    ]
    with place.open(*begun, "both run") as terminal:
        terminal.type("go\r")
        terminal.until("both run")
        terminal.until("· 2 in background ·")
        (place.project / "one").touch()
        terminal.until("· 1 in background ·")
        (place.project / "two").touch()
        terminal.until(lambda: " in background ·" not in terminal.text)
        terminal.read(1.5)
        assert terminal.read(1.5) == b""


def test_of_the_built_in_model_the_name_is_told_at_once_and_the_window_when_it_runs(tmp_path: Path) -> None:
    with Place(tmp_path).window("", 100, 24, "", {}) as terminal:
        terminal.until("? keys", 40)
        last = terminal.until(lambda: "(main" in terminal.text.split("\n")[-1]).split("\n")[-1]
        terminal.type("/usage\r")
        terminal.until("context: 0")
        assert "- context: 0\n" in terminal.text.replace("•", "-") + "\n"
    assert last.startswith(f"{default().alias} · free · ")


def test_after_a_refused_connection_retry_is_named_and_nothing_is_called_free(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with place.window("http://127.0.0.1:1/v1", 100, 24, "", {}) as terminal:
        terminal.until("? keys", 40)
        terminal.type("hello\r")
        shown = terminal.until("no server runs there: ")
        shown = terminal.until("/retry sends it again")
        terminal.until(lambda: "(main" in terminal.text.split("\n")[-1])
        terminal.read(0.5)
        assert "free" not in terminal.text.split("\n")[-1]
    assert "  Ollama starts with ollama serve; /retry sends it again, /model takes another model." in shown
