"""A session that is opened again stays with its model and in its folder, and says where it cannot."""

import json
from pathlib import Path

from hermes.testing import ScriptedModel, ScriptedServer, call, say
from tests.apps.conftest import Run


def test_a_session_stays_with_the_model_of_ones_own_server_that_it_was_left_with(run: Run) -> None:
    with ScriptedServer(ScriptedModel("one", "two")).running() as server:
        run("-z", "first", "--base-url", server.base_url, "-m", "mine")
        assert run("-c", "-z", "second").stdout == "two\n"
        assert [request["model"] for request in server.model.requests] == ["mine", "mine"]


def test_another_model_that_is_named_is_the_one_from_then_on(run: Run) -> None:
    with ScriptedServer(ScriptedModel("one", say("two", breaks_prefix=True), "three")).running() as server:
        run("-z", "first", "--base-url", server.base_url, "-m", "mine")
        run("-c", "-z", "second", "--base-url", server.base_url, "-m", "other")
        run("-c", "-z", "third")
        assert [request["model"] for request in server.model.requests] == ["mine", "other", "other"]


def test_a_model_that_cannot_be_had_any_more_is_told_and_the_chosen_one_answers(run: Run) -> None:
    with ScriptedServer(ScriptedModel("one", say("two", breaks_prefix=True))).running() as server:
        run("config", "set", "providers.shop.base_url", server.base_url)
        run("config", "set", "providers.shop.api_key_env", "SHOP_KEY")
        assert run("-z", "first", "-m", "shop/m", SHOP_KEY="secret-of-the-shop").stdout == "one\n"
        run("config", "set", "model.base_url", server.base_url)
        done = run("-c", "-z", "second")
    assert (done.returncode, done.stdout) == (0, "two\n")
    assert done.stderr.startswith("hermes: This session was left with shop/m, which cannot be had: ")
    assert done.stderr.rstrip().endswith("custom/default answers now.")


def test_a_session_works_on_in_its_folder_wherever_it_is_opened(run: Run, work: Path) -> None:
    (work / "notes.txt").write_text("milk\n")
    asked = call("read_file", {"path": "notes.txt"})
    with ScriptedServer(
        ScriptedModel("one", asked, call("terminal", {"command": "pwd"}), "two")
    ).running() as server:
        run("-z", "first", "--base-url", server.base_url)
        name = run("sessions", "list").stdout.split()[0]
        elsewhere = work.parent / "elsewhere"
        elsewhere.mkdir()
        done = run("-r", name, "-z", "second", cwd=elsewhere)
        assert done.stdout == "two\n"
        (read, ran) = (
            json.loads(message["content"])
            for message in server.model.requests[-1]["messages"]
            if message["role"] == "tool"
        )
    assert (read["content"], ran["output"]) == ("1|milk", f"{work}\n")
    assert f"This session works in {work}.\n" in done.stderr


def test_toolsets_named_for_a_session_that_goes_on_are_told_to_have_no_effect(run: Run) -> None:
    with ScriptedServer(ScriptedModel("one", "two", "three")).running() as server:
        run("-z", "first", "--base-url", server.base_url, "-t", "file")
        told = run("-c", "-t", "terminal", "-z", "second", "--base-url", server.base_url)
        quiet = run("-c", "-z", "third", "--base-url", server.base_url)
    sentence = (
        "This session goes on with the tools that it began with, for its model's cache holds them:"
        " --toolsets (-t) counts for a new session."
    )
    assert (told.stdout, told.stderr) == ("two\n", f"hermes: {sentence}\n")
    assert quiet.stderr == ""
