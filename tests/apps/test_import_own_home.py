"""Hermes in a home of the original: it starts, harms nothing, says once what takes it over, and reads from there."""

import json
from pathlib import Path

import pytest

from hermes.testing import ScriptedModel, ScriptedServer, say
from tests.apps.conftest import Run
from tests.apps.other_homes import SESSION, original_home, seen

TOLD = (
    "hermes: This home was made by the original Hermes Agent: hermes import takes over its sessions, keys"
    " and the rest.\n"
)


@pytest.fixture
def original(environ: dict[str, str]) -> Path:
    return original_home(Path(environ["HERMES_HOME"]))


def test_the_first_start_says_once_what_takes_it_over(run: Run, original: Path) -> None:
    before = {name: seen(original)[name] for name in ("state.db", "auth.json", "config.yaml", ".env")}
    with ScriptedServer(ScriptedModel(say("Hello."), say("Hello."))).running() as server:
        words = ("--base-url", server.base_url, "--model", "any", "-z", "Hi")
        first, second = run(*words), run(*words)
    assert (first.stdout, first.returncode) == ("Hello.\n", 0)
    assert (first.stderr.count(TOLD), second.stderr.count(TOLD)) == (1, 0)
    assert {name: seen(original)[name] for name in before} == before


def test_keys_of_the_original_are_told_of_in_one_line_but_for_those_that_are_said_otherwise_here(
    run: Run, original: Path
) -> None:
    (original / "config.yaml").write_text(
        "model: {provider: openrouter, default: x}\ntts: {a: 1, b: 2}\ncurator: {c: 3}\n"
    )
    with ScriptedServer(ScriptedModel(say("Hello."))).running() as server:
        done = run("--base-url", server.base_url, "--model", "any", "-z", "Hi")
    assert [line for line in done.stderr.splitlines() if "config.yaml" in line] == [
        "hermes: config.yaml line 1: nobody knows the key model.provider; it has no effect. Here the provider is the first part of model.default, such as anthropic/claude-sonnet-5.",
        "hermes: 3 keys of config.yaml have no effect here; hermes doctor names them.",
    ]


def test_it_is_taken_over_from_that_folder_itself(run: Run, original: Path) -> None:
    state = (original / "state.db").read_bytes()
    done = run("import", "-y")
    assert done.returncode == 0, done.stderr
    assert (original / "state.db").read_bytes() == state
    assert "What is here?" in run("sessions", "show", SESSION).stdout
    auth = json.loads((original / "auth.json").read_text())
    assert [one["secret"] for one in auth["providers"]["openrouter"]] == ["sk-or-2"]
    assert auth["providers"]["nous"] == {"access_token": "x"}
    again = run("import", "-y", "--json")
    rows = [json.loads(line) for line in again.stdout.splitlines()]
    assert [row for row in rows if row["what_happens"] in {"set", "installed"}] == []
    assert again.stderr == "There is nothing to take over.\n"


@pytest.mark.parametrize("place", ["providers", "top"])
def test_entries_of_the_original_in_auth_json_are_no_keys_of_ours(
    run: Run, original: Path, place: str
) -> None:
    rows = {
        "openrouter": [{"id": "k1", "auth_type": "api_key", "access_token": "sk-or-2", "last_status": "ok"}]
    }
    (original / "auth.json").write_text(json.dumps({"providers": rows} if place == "providers" else rows))
    (original / ".env").unlink()
    before = (original / "auth.json").read_bytes()
    listed = run("auth", "list")
    assert (listed.stdout, listed.returncode) == ("", 0)
    assert (original / "auth.json").read_bytes() == before
    run("auth", "add", "openrouter", "--key", "-", given="sk-mine\n")
    now = json.loads((original / "auth.json").read_text())
    assert rows["openrouter"][0] in (now["providers"] if place == "providers" else now)["openrouter"]
    assert [one["secret"] for one in now["providers"]["openrouter"] if "secret" in one] == ["sk-mine"]
