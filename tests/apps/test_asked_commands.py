"""Slash commands as questions of `-z`: they run as on the screen, and what they tell is the answer."""

import json
import re
from pathlib import Path

import pytest

from hermes.environments.process_tree import MARKER
from hermes.testing import ScriptedModel, ScriptedServer, say
from tests.apps.conftest import Done, Run

PLUGIN = """
def register(ctx):
    ctx.register_command("luck", lambda words: f"good {words}!")
    ctx.register_command("say", lambda words: ctx.inject_message(f"Tell {words}.") and "It is sent.")
"""


@pytest.fixture(autouse=True)
def plugin(environ: dict[str, str]) -> None:
    home = Path(environ["HERMES_HOME"])
    folder = home / "plugins" / "luck"
    folder.mkdir(parents=True)
    (folder / "plugin.yaml").write_text("name: luck\n")
    (folder / "__init__.py").write_text(PLUGIN)
    (home / "config.yaml").write_text("plugins: {enabled: [luck]}\n")


def ask(run: Run, model: ScriptedModel, *words: str, given: str | None = None, **more: str) -> Done:
    with ScriptedServer(model).running() as server:
        return run(*words, "-m", "m", "--base-url", server.base_url, given=given, **more)


def test_what_a_plugins_command_gives_is_the_answer_and_no_model_is_asked(run: Run) -> None:
    model = ScriptedModel()
    done = ask(run, model, "-z", "/luck day")
    assert (done.returncode, done.stdout, model.requests) == (0, "good day!\n", [])


def test_commands_of_ours_answer_as_those_of_plugins_do(run: Run) -> None:
    model = ScriptedModel(say("Hello."))
    ask(run, model, "-z", "Hi")
    assert run("sessions", "rename", "latest", "Trial").returncode == 0
    told = "This session is called “Trial”."
    assert ask(run, model, "-c", "-z", "/title").stdout == f"{told}\n"
    lines = ask(run, model, "-c", "-z", "/title", "--json").stdout.splitlines()
    end = json.loads(lines[-1])
    assert ([json.loads(one)["kind"] for one in lines], end["status"], end["answer"]) == (
        ["start", "end"],
        "done",
        told,
    )
    assert len(model.requests) == 1


def test_what_a_command_sends_is_asked_with_what_was_piped(run: Run) -> None:
    model = ScriptedModel(say("Once upon a time."))
    done = ask(run, model, "-z", "/say a story", given="of a fox")
    assert (done.stdout, done.stderr) == ("Once upon a time.\n", "hermes: It is sent.\n")
    assert model.requests[0]["messages"][-1]["content"] == "Tell a story.\n\nof a fox"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("/lukc day", "There is no command /lukc. Did you mean /luck?"),
        ("/resume", "Nobody can choose here; hermes sessions list lists them, /resume ID takes one."),
        ("/continue", "The last turn was not cut off; there is nothing to go on with."),
    ],
)
def test_what_is_wrong_with_a_command_is_said_and_fails(run: Run, command: str, told: str) -> None:
    model = ScriptedModel()
    done = ask(run, model, "-z", command)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"✗ {told}\n")
    assert model.requests == []


KEPT = "is not taken from a question, for it changes what is kept"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("/trust yes", f"/trust with arguments {KEPT}; the screen keeps an answer."),
        ("/tru yes", f"/trust with arguments {KEPT}; the screen keeps an answer."),
        ("/goal Do it.", f"/goal with arguments {KEPT}; hermes -z TEXT --goal works on one."),
        ("/model other", f"/model with arguments {KEPT}; -m names a model, hermes model keeps one."),
        ("/title Other", f"/title with arguments {KEPT}; hermes sessions rename changes it."),
        ("/skills uninstall x", f"/skills with arguments {KEPT}; hermes skills does it."),
        ("/rollback 1 force", f"/rollback {KEPT}; hermes checkpoints restore brings files back."),
        ("/edits", f"/edits {KEPT}; the screen changes it."),
    ],
)
def test_what_changes_something_kept_is_not_taken_from_a_question(run: Run, command: str, told: str) -> None:
    model = ScriptedModel()
    done = ask(run, model, "-z", command)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"✗ {told}\n")
    assert model.requests == []


@pytest.mark.parametrize("command", ["/trust", "/skills", "/goal", "/model", "/mcp", "/help"])
def test_what_only_tells_is_taken_from_a_question(run: Run, command: str) -> None:
    assert ask(run, ScriptedModel(), "-z", command).returncode == 0


def test_a_command_leads_to_another_session(run: Run) -> None:
    model = ScriptedModel(say("Hello."), say("Again."))
    ask(run, model, "-z", "Hi")
    branched = ask(run, model, "-c", "-z", "/branch try")
    assert branched.stdout.startswith("This is a branch. `/resume ")
    rewound = ask(run, model, "-c", "-z", "/retry")
    assert (rewound.stdout, model.requests[1]["messages"][-1]["content"]) == ("Again.\n", "Hi")


def test_what_was_summed_up_is_the_answer(run: Run, environ: dict[str, str]) -> None:
    config = Path(environ["HERMES_HOME"], "config.yaml")
    config.write_text(config.read_text() + "model:\n  context_window: 40000\n")
    turns = [say(" ".join(f"w{number}x{word}" for word in range(800))) for number in range(6)]
    model = ScriptedModel(*turns, *[say("## Goal\n- A house [1-3]\n" * 20, breaks_prefix=True)] * 2)
    ask(run, model, "-z", "turn")
    for _ in turns[1:]:
        ask(run, model, "-c", "-z", "turn")
    told = ask(run, model, "-c", "-z", "/compress").stdout
    assert re.fullmatch(r"… \d+ older messages were summed up: \S+ → \S+ tokens\n", told)


def test_text_on_stdin_is_never_a_command(run: Run) -> None:
    model = ScriptedModel(say("A word."))
    assert ask(run, model, given="/luck day").stdout == "A word.\n"
    assert model.requests[0]["messages"][-1]["content"] == "/luck day"


def test_an_agent_gives_no_commands(run: Run) -> None:
    done = ask(run, ScriptedModel(), "-z", "/luck day", **{MARKER: "ab" * 16})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("hermes: This runs in a command that Hermes has started")
