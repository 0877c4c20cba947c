"""Slash commands on the screen and in a plain terminal: a real program in a real PTY."""

import json
import re
import sys
from contextlib import ExitStack
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from hermes.testing import ScriptedModel, ScriptedServer, say
from tests.apps.screen import Terminal
from tests.apps.test_tui_program import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_skill_of_the_home_is_offered_by_name_with_what_it_does(tmp_path: Path) -> None:
    place = Place(tmp_path)
    folder = place.home / ".hermes" / "skills" / "greet-guests"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: greet-guests\ndescription: Greets who comes.\n---\nBow.\n")
    with place.open() as terminal:
        terminal.until("(main")
        terminal.type("/gree")
        terminal.until("❯ /greet-guests  Greets who comes.")
        terminal.type("\t")
        terminal.until("❯ /greet-guests\n")


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_doctor_tells_here_what_hermes_doctor_tells(place: Place, term: str) -> None:
    (place.home / ".hermes").mkdir()
    (place.home / ".hermes" / "config.yaml").write_text("display: {colour: red}\n")
    with (
        ScriptedServer(ScriptedModel()).running() as server,
        place.window(server.base_url, 80, 50, "", {"TERM": term}) as terminal,
    ):
        terminal.until("/help" if term != "dumb" else "an empty line leaves")
        terminal.type("/doctor\r" if term != "dumb" else "/doctor\n")
        shown = terminal.until("sessions: ")
    assert (
        f"✓ model: custom/fake-1 at {server.base_url}" in shown,
        "✗ config.yaml line 1: nobody knows the key display.colour" in shown,
        bool(re.search(r"^✓ bash: /", shown, re.MULTILINE)),
    ) == (True, True, True)


class Listing(BaseHTTPRequestHandler):
    """A server that has two models and answers nothing else."""

    def do_GET(self) -> None:  # the library calls it so
        names = {"data": [{"id": "fake-1"}, {"id": "org/other"}]}
        body = json.dumps(names if self.path == "/v1/models" else {}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


def test_a_model_is_chosen_from_a_list_that_the_server_fills(place: Place) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Listing)
    Thread(target=server.serve_forever, daemon=True).start()
    with (
        ExitStack() as ends,
        place.window(f"http://127.0.0.1:{server.server_port}/v1", 80, 24, "", {}) as terminal,
    ):
        ends.callback(server.server_close)
        ends.callback(server.shutdown)
        terminal.until("? keys")
        terminal.type("/model\r")
        terminal.until("❯ fake-1")
        assert "local/" in terminal.text
        terminal.type("other")
        terminal.until("❯ org/other")
        terminal.type("\r")
        terminal.until("The model is org/other (custom). It answers from now on.")
        terminal.type("/model fake-2\r")
        terminal.until("has no model fake-2; it has fake-1.")
        terminal.type("/model\r")
        terminal.until("now org/other")
        terminal.type("\x1b")
        terminal.until(lambda: "type to filter" not in terminal.text)


def test_without_escapes_model_tells_which_one_answers(place: Place) -> None:
    with (
        ScriptedServer(ScriptedModel()).running() as server,
        place.window(server.base_url, 80, 24, "", {"TERM": "dumb"}) as terminal,
    ):
        terminal.until("an empty line leaves")
        terminal.type("/model\n")
        terminal.until("The model is fake-1 (custom).")
        terminal.until("/model NAME http://host:port/v1 [KEY]")


def configure(place: Place, server: ScriptedServer) -> None:
    """Give the home another model of this server than the screen is opened with."""
    (place.home / ".hermes").mkdir()
    (place.home / ".hermes" / "config.yaml").write_text(
        json.dumps({"model": {"base_url": server.base_url, "default": "configured"}})
    )


def test_a_new_session_goes_on_with_the_model_in_front_of_the_person(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with ScriptedServer(ScriptedModel("First.", say("Second.", breaks_prefix=True))).running() as server:
        configure(place, server)
        with place.window(server.base_url, 100, 24, "", {}) as terminal:
            terminal.until("? keys", 40)
            terminal.type("one\r")
            terminal.until("First.")
            terminal.type("/quit\r")
            assert terminal.wait() == 0
        with place.window("", 100, 24, "latest", {}) as terminal:
            terminal.until("First.", 40)
            terminal.type("/new\r")
            terminal.until("session 2")
            terminal.type("two\r")
            terminal.until("Second.")
            assert terminal.text.splitlines()[-1].startswith("fake-1 ")
    assert [request["model"] for request in server.model.requests] == ["fake-1", "fake-1"]


def test_a_new_session_goes_on_with_the_model_also_where_there_are_only_lines(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with ScriptedServer(ScriptedModel("First.", say("Second.", breaks_prefix=True))).running() as server:
        configure(place, server)
        with place.window("", 100, 24, "", {"TERM": "dumb"}) as terminal:
            terminal.until("an empty line leaves", 40)
            terminal.type("/model other\r")
            terminal.until("It answers from now on.")
            terminal.type("one\r")
            terminal.until("First.")
            terminal.type("/new\r")
            terminal.until("session 2")
            terminal.type("two\r")
            terminal.until("Second.")
    assert [request["model"] for request in server.model.requests] == ["other", "other"]


def test_a_session_that_is_opened_after_another_keeps_its_own_model(place: Place) -> None:
    model = ScriptedModel("First.", say("Second.", breaks_prefix=True), say("Third.", breaks_prefix=True))
    with ScriptedServer(model).running() as server:
        with place.window(server.base_url, 100, 24, "", {}) as terminal:
            terminal.until("? keys", 40)
            terminal.type("one\r")
            terminal.until("First.")
            terminal.type("/quit\r")
            assert terminal.wait() == 0
            (first,) = re.findall(r"hermes -r (\S+)", terminal.text)
        with place.window("", 100, 24, "", {"HERMES_BASE_URL": server.base_url}) as terminal:
            terminal.until("? keys", 40)
            terminal.type("/model other\r")
            terminal.until("It answers from now on.")
            terminal.type("two\r")
            terminal.until("Second.")
            terminal.type(f"/resume {first}\r")
            terminal.until("First.")
            terminal.type("three\r")
            terminal.until("Third.")
    assert [request["model"] for request in server.model.requests] == ["fake-1", "other", "fake-1"]


def test_undo_puts_back_the_message_and_not_the_command_that_was_run_before_it(place: Place) -> None:
    with (
        ScriptedServer(
            ScriptedModel("Understood.", say("Once more.", breaks_prefix=True))
        ).running() as server,
        place.window(server.base_url, 100, 30, "", {}) as terminal,
    ):
        terminal.until("? keys", 40)
        terminal.type("!echo hello there\r")
        terminal.until("      hello there")
        terminal.type("what did I do?\r")
        terminal.until("Understood.")
        terminal.type("/undo\r")
        terminal.until("The model has forgotten that turn")
        terminal.until(lambda: input_of(terminal.text) == ["❯ what did I do?"])
        terminal.type("\r")
        terminal.until("Once more.")
    told = "I ran `echo hello there` myself; exit code 0, output:\n```\nhello there\n\n```\n\nwhat did I do?"
    assert [request["messages"][-1]["content"] for request in server.model.requests] == [told, told]


def input_of(window: str) -> list[str]:
    """The rows between the last thing that was shown and the line below the input."""
    rows = window.splitlines()
    end = max(number for number, row in enumerate(rows) if row.startswith("────"))
    start = max(number for number, row in enumerate(rows[:end]) if row.startswith("❯"))
    return rows[start:end]


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_a_skill_is_called_for_by_its_name(place: Place, term: str) -> None:
    folder = place.home / ".hermes" / "skills" / "haiku"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: haiku\ndescription: d\n---\nFive, seven, five.\n")
    model = ScriptedModel(say("Rain on the old roof"))
    with (
        ScriptedServer(model).running() as server,
        place.window(server.base_url, 80, 24, "", {"TERM": term}) as terminal,
    ):
        terminal.until("/help" if term != "dumb" else "an empty line leaves")
        end = "\r" if term != "dumb" else "\n"
        terminal.type(f"/haiku about rain{end}")
        terminal.until("Rain on the old roof")
        terminal.type(f"/haikoo{end}")
        terminal.until("There is no command /haikoo. Did you mean /haiku?")
    assert "Five, seven, five." in json.dumps(model.requests[0]["messages"][-1])


def shown_more(terminal: Terminal, before: int) -> bool:
    return terminal.everything.count("• good: ") > before


def test_a_prompt_of_a_server_is_offered_and_sent_marked_as_its_words(place: Place) -> None:
    kept = place.home / "kept"
    kept.mkdir()
    program = Path(__file__).parents[1] / "mcp_servers" / "hostile_server.py"
    about = {"command": sys.executable, "args": ["-I", str(program), "has prompts", str(kept)]}
    (place.home / ".hermes").mkdir()
    (place.home / ".hermes" / "config.yaml").write_text(json.dumps({"mcp_servers": {"good": about}}))
    model = ScriptedModel(say("Hello, Ann."))
    with (
        ScriptedServer(model).running() as server,
        place.window(server.base_url, 100, 40, "", {}) as terminal,
    ):
        terminal.until("(main")
        while "connected · 1 tool, resources, prompts" not in terminal.text:
            before = terminal.everything.count("• good: ")
            terminal.type("/mcp\r")
            terminal.until(partial(shown_more, terminal, before))
        terminal.type("/mcp__g")
        terminal.until("/mcp__good__greet who [how]  Greets *somebody*.")
        terminal.type("\tAnn\r")
        terminal.until("The MCP server good says:")
        terminal.until("Hello, Ann.")
    sent = json.dumps(model.requests[0]["messages"][-1])
    assert "These are the words of the MCP server good, not of the user" in sent
    assert "Go by what the MCP server good gave for /mcp__good__greet: Ann" in sent
