import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from hermes.testing import ScriptedModel, ScriptedServer, Turn, call, calls, fail, raw, say
from tests.apps.conftest import Run
from tests.apps.screen import Terminal
from tests.scenarios.family import FamilyModel


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "notes.txt").write_text("milk\nbread\n")
    return folder


def ask(run: Run, model: ScriptedModel, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    with ScriptedServer(model).running() as server:
        return run(*arguments, "--base-url", server.base_url, **more)


def test_the_answer_alone_is_on_stdout_and_the_steps_on_stderr(run: Run) -> None:
    done = ask(
        run,
        ScriptedModel(call("read_file", {"path": "notes.txt"}, text="Let me look."), say("Milk and bread.")),
        "-z",
        "what do I need?",
    )
    assert (done.returncode, done.stdout) == (0, "Milk and bread.\n")
    assert "read" in done.stderr
    assert "notes.txt" in done.stderr


def test_verbose_adds_what_was_said_before_the_answer_and_no_keys_of_the_screen(run: Run) -> None:
    long = call("terminal", {"command": "seq 12"}, text="Let me count.")
    done = ask(run, ScriptedModel(long, say("Twelve.")), "-v", "-z", "how many?")
    said, head, *tail = done.stderr.splitlines()
    assert (done.stdout, said) == ("Twelve.\n", "Let me count.")
    assert "seq 12" in head
    assert [row.strip() for row in tail] == ["8", "9", "10", "11", "12", "… 7 earlier lines"]


@pytest.mark.parametrize("form", ["--json", "-v"])
def test_a_known_key_in_a_call_or_a_question_is_not_told(run: Run, form: str) -> None:
    key = "8sJq2LmX4vTz9RkW1bYc"
    replies = [
        call("write_file", {"path": "key", "content": f'{{"a": "{key}"}}'}),
        call("terminal", {"command": f"rm -rf /opt/{key}"}),
        call(f"no_tool_{key}", {"deep": [{"x": key}]}, call_id="c3"),
        say("ok"),
    ]
    done = ask(run, ScriptedModel(*replies), form, "-z", "hi", SHOP_API_KEY=key)
    assert (key in done.stdout + done.stderr, "[redacted]" in done.stdout + done.stderr) == (False, True)


@pytest.mark.parametrize("yolo", [(), ("--yolo",)])
def test_a_hard_limit_is_said_to_be_one_and_not_a_question_that_nobody_heard(
    run: Run, yolo: tuple[str, ...]
) -> None:
    model = ScriptedModel(call("terminal", {"command": "rm -rf /"}), say("I could not."))
    done = ask(run, model, *yolo, "-z", "hi")
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == (
        "hermes: never allowed, whatever is set or answered: rm -rf /. hermes approvals explain COMMAND says"
        " why."
    )


def test_stdin_is_added_to_the_question(run: Run) -> None:
    model = ScriptedModel("ok")
    ask(run, model, "-z", "sum up", given="line one\nline two\n")
    assert model.requests[0]["messages"][-1]["content"] == "sum up\n\nline one\nline two\n"


def test_stdin_alone_is_a_question(run: Run) -> None:
    model = ScriptedModel("ok")
    assert ask(run, model, given="hello").stdout == "ok\n"


def test_no_question_at_all_is_a_usage_error(run: Run) -> None:
    done = run("-z", "")
    assert (done.returncode, done.stdout) == (2, "")
    assert "There is no question" in done.stderr


def test_a_refused_key_fails_at_once_with_the_provider_s_own_words(run: Run) -> None:
    started = time.monotonic()
    done = ask(run, ScriptedModel(fail(401, "Incorrect API key provided")), "-z", "hi")
    assert (done.returncode, done.stdout) == (1, "")
    assert "the key was refused (401): Incorrect API key provided" in done.stderr
    assert "http://127.0.0.1:" in done.stderr
    assert time.monotonic() - started < 10


def test_a_server_that_nobody_has_started_is_named_soon_with_what_to_do(run: Run) -> None:
    done = run("-z", "hi", "--base-url", "http://127.0.0.1:9/v1")
    assert (done.returncode, done.stdout) == (1, "")
    *retries, failure, address, fix = done.stderr.splitlines()
    assert [row.rpartition(" · ")[2] for row in retries] == ["try 1 of 2", "try 2 of 2"]
    assert failure == (
        "✗ no server runs there: nothing listens at 127.0.0.1:9: start the model server, or correct the address"
    )
    assert address.strip() == "http://127.0.0.1:9/v1"
    assert fix.strip() == "Ollama starts with ollama serve; --base-url takes another address."


def ended(text: str, finish: str) -> Turn:
    """Words and a reason for their end, as one whole body."""
    choice = {"index": 0, "finish_reason": finish, "message": {"content": text}}
    return raw(json.dumps({"id": "x", "choices": [choice]}).encode(), content_type="application/json")


@pytest.mark.parametrize(
    ("finish", "parts", "words"),
    [
        ("length", ("Ha", "lf", " of", " a", "n"), "The answer is not whole: it was cut"),
        ("content_filter", ("Half of an",), "The provider's filter ended the answer"),
    ],
)
def test_an_answer_that_is_not_whole_is_marked_and_has_its_exit_code(
    run: Run, finish: str, parts: tuple[str, ...], words: str
) -> None:
    replies = [ended(part, finish) for part in parts]
    done = ask(run, ScriptedModel(*replies), "-z", "hi")
    assert (done.returncode, done.stdout) == (5, "Half of an\n")
    assert words in done.stderr
    done = ask(run, ScriptedModel(*replies), "--json", "-z", "hi")
    *_, notice, end = (json.loads(row) for row in done.stdout.splitlines())
    assert (done.returncode, end["status"], end["answer"]) == (5, "cut", "Half of an")
    assert notice["text"].startswith(words)


def test_an_answer_that_was_continued_is_one_and_whole(run: Run) -> None:
    done = ask(run, ScriptedModel(ended("Half of an", "length"), ended(" answer.", "stop")), "-z", "hi")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Half of an answer.\n", "")


def test_a_model_that_never_says_a_word_is_a_failure_and_no_answer(run: Run) -> None:
    done = ask(run, ScriptedModel(ended("", "stop"), ended("", "stop")), "-z", "hi")
    assert (done.returncode, done.stdout) == (1, "")
    assert "✗ the model gave no answer: The model gave an empty reply." in done.stderr
    assert "Check that the server runs" not in done.stderr


def test_calls_that_can_never_be_read_are_told_on_stderr(run: Run) -> None:
    broken = [call("read_file", "no arguments at all") for _ in range(3)]
    done = ask(run, ScriptedModel(*broken), "-z", "hi")
    assert (done.returncode, done.stdout) == (1, "")
    assert "The model wrote 3 replies in a row whose calls could not be used" in done.stderr


def test_a_reply_that_the_server_cut_is_not_called_a_missing_connection(run: Run) -> None:
    run("config", "set", "model.max_retries", "0")
    begun = b'data: {"choices": [{"index": 0, "delta": {"content": "Hel"}}]}\n\n'
    done = ask(run, ScriptedModel(raw(begun)), "-z", "hi")
    assert (done.returncode, done.stdout) == (1, "")
    assert "✗ the server cut the reply: " in done.stderr
    assert "Check that the server runs" not in done.stderr


@pytest.mark.usefixtures("nothing_saved")
def test_what_needs_an_approval_is_refused_and_said_and_has_its_exit_code(run: Run, work: Path) -> None:
    done = ask(
        run,
        ScriptedModel(
            call("terminal", {"command": "rm -rf ./notes.txt ../work/*"}), say("I could not delete it.")
        ),
        "-z",
        "delete everything",
    )
    assert (done.returncode, done.stdout) == (3, "I could not delete it.\n")
    assert "rm -rf" in done.stderr
    assert (work / "notes.txt").exists()


def test_what_a_child_was_refused_has_that_exit_code_too(run: Run, work: Path) -> None:
    model = FamilyModel(
        {
            "clean up": [call("delegate_task", {"goal": "delete them"}), say("It could not.")],
            "delete them": [
                call("terminal", {"command": "touch x", "needs": {"unconfined": True}}),
                say("Refused."),
            ],
        }
    )
    with ScriptedServer(model).running() as server:
        done = run("-z", "clean up", "--base-url", server.base_url)
    assert (done.returncode, done.stdout, "touch x" in done.stderr) == (3, "It could not.\n", True)


def test_a_script_that_fails_shows_the_last_line_of_why(run: Run, work: Path) -> None:
    model = ScriptedModel(call("execute_code", {"code": "print('so far')\nnowhere"}), say("It failed."))
    done = ask(run, model, "-z", "go")
    shown = [line.strip() for line in done.stderr.splitlines()]
    assert [line for line in shown[1:] if "so far" in line or "NameError" in line] == [
        "so far",
        "NameError: name 'nowhere' is not defined",
    ]


def test_usage_is_an_object_a_line_with_json(run: Run) -> None:
    ask(run, ScriptedModel(say("Hi.", size=100)), "-z", "hello")
    (line,) = run("usage", "--json", "--by", "model").stdout.splitlines()
    found = json.loads(line)
    assert found | {"model": ""} == {
        "model": "",
        "input_tokens": 100,
        "output_tokens": 10,
        "cache_read": 80,
        "cache_write": 0,
        "reasoning": 0,
        "requests": 1,
        "cost": 0.0,
        "unpriced": 110,
        "failed": 0,
    }


def test_yolo_lets_it_run(run: Run, work: Path) -> None:
    done = ask(
        run,
        ScriptedModel(call("terminal", {"command": "rm -rf ./notes.txt"}), say("Gone.")),
        "--yolo",
        "-z",
        "delete it",
    )
    assert (done.returncode, done.stdout) == (0, "Gone.\n")
    assert not (work / "notes.txt").exists()


def test_the_step_limit_has_its_exit_code(run: Run) -> None:
    step = call("read_file", {"path": "notes.txt"})
    more = call("terminal", {"command": "cat notes.txt"})
    last = say("That is all I did.", breaks_prefix=True)
    done = ask(run, ScriptedModel(step, more, last), "-z", "go", "--max-turns", "1")
    assert (done.returncode, done.stdout) == (4, "That is all I did.\n")
    left = [line.split() for line in done.stderr.splitlines() if line.endswith("not run")]
    assert left == [["💻", "run", "cat", "notes.txt", "0.0s", "✗", "not", "run"]]


def test_what_the_step_limit_leaves_out_is_said_where_it_is_named(run: Run) -> None:
    told = "before it must sum up, which takes one or two more."
    said = (run("--help").stdout, run("config", "explain", "agent.max_turns").stdout)
    assert [told in " ".join(text.split()) for text in said] == [True, True]


def test_a_fault_before_the_turn_ends_the_json_lines_too(run: Run) -> None:
    done = run("--json", "-z", "hi", "-m", "nosuch/model")
    error, end = (json.loads(line) for line in done.stdout.splitlines())
    assert (done.returncode, error["kind"], end["kind"]) == (2, "error", "end")
    assert (end["status"], end["answer"], end["session"]) == ("failed", "", "")
    assert error["message"] in done.stderr


@pytest.mark.parametrize("named", ["-c", "-rnosuch"])
def test_a_session_that_is_not_there_is_a_fault_in_what_was_asked_for(run: Run, named: str) -> None:
    done = run(named, "-z", "hi", "--base-url", "http://127.0.0.1:9/v1")
    wanted = "no session of this directory yet" if named == "-c" else "no session 'nosuch'"
    told = f"hermes: There is {wanted}; hermes sessions list shows what there is.\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", told)


def test_json_lines_tell_of_what_goes_on_for_long(run: Run, environ: dict[str, str], work: Path) -> None:
    run("config", "set", "agent.long_seconds", "0.2")
    wait = "while [ ! -e told ]; do sleep 0.1; done"
    model = ScriptedModel(call("terminal", {"command": wait}), say("done"))
    with ScriptedServer(model).running() as server:
        argv = [sys.executable, "-m", "hermes", "--json", "-z", "go", "--base-url", server.base_url]
        with subprocess.Popen(
            argv, cwd=work, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            lines = (json.loads(line) for line in process.stdout)
            told = next(line for line in lines if line["kind"] == "notice" and "running" in line["text"])
            (work / "told").touch()
            assert list(lines)[-1]["answer"] == "done"
    assert told["text"].startswith(f"Still at it: running terminal {wait}, ")
    assert (told["doing"], told["seconds"] >= 0.2) == (f"running terminal {wait}", True)


def test_json_lines_say_that_older_messages_are_summed_up_and_what_came_of_it(
    run: Run, environ: dict[str, str]
) -> None:
    Path(environ["HERMES_HOME"]).mkdir(parents=True, exist_ok=True)
    Path(environ["HERMES_HOME"], "config.yaml").write_text("model:\n  context_window: 20000\n")
    tools = ("--toolsets", "")  # with a tool that reads files the text would be in one
    done = ask(run, ScriptedModel("short"), "--json", *tools, given="the quick brown fox\n" * 6_000)
    begun, made = (json.loads(row) for row in done.stdout.splitlines() if '"compaction' in row)
    assert begun == {"v": 1, "kind": "compaction_start", "tokens": 0}
    assert (made["kind"], made["dropped"], made["after"] < made["before"]) == ("compaction", 0, True)


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_why_a_hook_refused_what_was_said_is_told(
    run: Run, environ: dict[str, str], form: tuple[str, ...]
) -> None:
    Path(environ["HERMES_HOME"]).mkdir(parents=True, exist_ok=True)
    refuses = {"hooks": [{"type": "command", "command": "echo no secrets >&2; exit 2"}]}
    chosen = {"hooks": {"UserPromptSubmit": [refuses]}, "hooks_auto_accept": True}
    Path(environ["HERMES_HOME"], "config.yaml").write_text(json.dumps(chosen))
    done = ask(run, ScriptedModel("never"), *form, "-z", "sk-1")
    assert done.returncode == 130
    assert "stopped: no secrets The message was not sent, and is not kept." in done.stderr + done.stdout


def test_json_lines_have_what_a_call_changed(run: Run, work: Path) -> None:
    (work / "a.txt").write_text("one\n")
    model = ScriptedModel(
        call("terminal", {"command": "sed -i s/one/two/ a.txt"}),
        call("patch", {"mode": "replace", "path": "a.txt", "old_string": "two", "new_string": "three"}),
        "done",
    )
    lines = map(json.loads, ask(run, model, "--json", "-z", "go").stdout.splitlines())
    diffs = [line["diff"] for line in lines if line["kind"] == "tool_end"]
    assert diffs == [
        f"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-{old}\n+{new}\n"
        for old, new in (("one", "two"), ("two", "three"))
    ]


def test_json_lines_are_few_versioned_and_end_with_end(run: Run) -> None:
    done = ask(
        run,
        ScriptedModel(call("read_file", {"path": "notes.txt"}), say("Milk.", size=100)),
        "--json",
        "-z",
        "what?",
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["kind"] for line in lines] == [
        "start",
        "usage",
        "tool_start",
        "tool_end",
        "text",
        "usage",
        "end",
    ]
    assert {line["v"] for line in lines} == {1}
    assert lines[2]["arguments"] == {"path": "notes.txt"}
    end = lines[-1]
    assert (end["status"], end["answer"], end["tokens"], end["session"]) == (
        "done",
        "Milk.",
        {"input": 200, "output": 20, "cached": 160},
        lines[0]["session"],
    )


NOISY = """
import os
import hermes

print("noise at import", flush=True)


@hermes.tool(outside=False)
def noisy() -> str:
    \"\"\"Make noise.\"\"\"
    print("noise of a call", flush=True)
    os.write(1, b"noise of a descriptor\\n")
    os.system("echo noise of a program")
    return "done"
"""


@pytest.mark.parametrize("how", [(), ("--json",)])
def test_what_tools_print_is_no_part_of_the_answer(
    run: Run, environ: dict[str, str], how: tuple[str, ...]
) -> None:
    folder = Path(environ["HERMES_HOME"]) / "tools"
    folder.mkdir(parents=True)
    (folder / "loud.py").write_text(NOISY)
    model = ScriptedModel(call("noisy", {}), "quiet")
    done = ask(run, model, *how, "-z", "go", "--toolsets", "loud")
    assert json.loads(model.requests[1]["messages"][-1]["content"]) == {"result": "done"}
    assert "noise" not in done.stdout
    assert done.stderr.count("noise") == 4
    assert done.returncode == 0


def test_the_end_of_a_call_has_its_exit_code_and_output(run: Run) -> None:
    model = ScriptedModel(
        calls(("terminal", {"command": "echo out; exit 3"}), ("read_file", {"path": "notes.txt"})), "done"
    )
    lines = [json.loads(line) for line in ask(run, model, "--json", "-z", "go").stdout.splitlines()]
    ran, read = (line for line in lines if line["kind"] == "tool_end")
    assert (ran["exit_code"], ran["output"], ran["failed"]) == (3, "out\n", True)
    assert (read["exit_code"], json.loads(read["output"])["total_lines"]) == (None, 2)


def test_the_end_of_a_refused_call_says_why(run: Run) -> None:
    model = ScriptedModel(call("terminal", {"command": "rm -rf /"}), "no")
    lines = [json.loads(line) for line in ask(run, model, "--json", "-z", "go").stdout.splitlines()]
    (end,) = (line for line in lines if line["kind"] == "tool_end")
    told, _, _ = end["output"].partition(" Do not")
    assert (end["failed"], told) == (True, "This is never allowed: it deletes /.")


def test_the_schema_of_the_lines_is_printed_and_names_every_kind(run: Run) -> None:
    printed = run("--json-schema").stdout
    assert printed == Path("docs/reference/json-lines.schema.json").read_text(), (
        "hermes --json-schema writes it"
    )
    schema = json.loads(printed)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert sorted(schema["discriminator"]["mapping"]) == [
        "approval", "child", "compaction", "compaction_start", "end", "error", "goal", "notice", "restart",
        "retry", "start", "text", "tool_end", "tool_start", "usage",
    ]  # fmt: skip
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"kind": "text", "v": 1}, schema)


SCHEMA = json.dumps(
    {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}, "required": ["n"]}
)


def test_an_answer_by_a_schema_is_its_json_alone(run: Run, work: Path) -> None:
    (work / "schema.json").write_text(SCHEMA)
    model = ScriptedModel("four", '{"n": 1}', '```json\n{"n": 4, "why": "ü"}\n```')
    done = ask(run, model, "-z", "how many?", "--output-schema", "schema.json")
    assert (done.returncode, done.stdout) == (0, '{"n": 4, "why": "ü"}\n')
    assert "$.n: 1 is less than the minimum of 3" in model.requests[2]["messages"][-1]["content"]
    lines = ask(run, ScriptedModel('{"n": 5}'), "--json", "-z", "n?", "--output-schema", "schema.json")
    assert json.loads(lines.stdout.splitlines()[-1])["output"] == {"n": 5}


def test_names_that_a_model_gives_reach_stderr_without_escapes(run: Run, work: Path) -> None:
    (work / "schema.json").write_text('{"type": "object", "additionalProperties": {"type": "integer"}}')
    answer = json.dumps({"k\x1b]52;c;QQ==\x07\x9d52;c;QQ==\x9c": "x"})
    done = ask(run, ScriptedModel(*[answer] * 3), "-z", "how many?", "--output-schema", "schema.json")
    assert "is not of type 'integer'" in done.stderr
    assert all(one.isprintable() or one == "\n" for one in done.stderr)


def test_an_answer_that_never_fits_is_no_output_and_has_its_exit_code(run: Run, work: Path) -> None:
    (work / "schema.json").write_text(SCHEMA)
    done = ask(run, ScriptedModel("a", "b", "c"), "-z", "how many?", "--output-schema", "schema.json")
    assert (done.returncode, done.stdout) == (5, "")
    assert done.stderr == "✗ No answer of the form came: it is not one JSON value.\n"


def said_last(lines: list[dict[str, Any]]) -> str:
    """What a program has that joins texts as the lines tell it to."""
    text = ""
    for one in lines:
        text = "" if one["kind"] == "restart" else text + one.get("text", "")
    return text


@pytest.mark.parametrize(("last", "reasons"), [('{"n": 5}', []), ("c", ["it is not one JSON value."])])
def test_the_lines_tell_which_try_counts_and_why_none_does(
    run: Run, work: Path, last: str, reasons: list[str]
) -> None:
    (work / "schema.json").write_text(SCHEMA)
    done = ask(run, ScriptedModel("a", "b", last), "--json", "-z", "n?", "--output-schema", "schema.json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert said_last(lines) == last
    assert [line["message"] for line in lines if line["kind"] == "error"] == [
        f"No answer of the form came: {why}" for why in reasons
    ]


@pytest.mark.parametrize(("last", "status", "code"), [('{"n": 5}', "done", 0), ("c", "failed", 5)])
def test_the_last_line_counts_all_tries_and_says_whether_one_fits(
    run: Run, work: Path, last: str, status: str, code: int
) -> None:
    (work / "schema.json").write_text(SCHEMA)
    done = ask(run, ScriptedModel("a", "b", last), "--json", "-z", "n?", "--output-schema", "schema.json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    sent = [line["input"] for line in lines if line["kind"] == "usage"]
    assert (done.returncode, lines[-1]["status"], len(sent)) == (code, status, 3)
    assert lines[-1]["tokens"]["input"] == sum(sent)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "schema.json cannot be read: No such file or directory."),
        ("{", "schema.json cannot be used: Input data was truncated."),
        ("[]", "schema.json cannot be used: it is no JSON Schema, which is an object."),
        ('{"type": "oject"}', "schema.json cannot be used: it is no JSON Schema: 'oject' is not valid"),
    ],
)
def test_a_schema_that_is_none_is_refused_before_anything_is_sent(
    run: Run, work: Path, text: str | None, told: str
) -> None:
    if text is not None:
        (work / "schema.json").write_text(text)
    model = ScriptedModel()
    done = ask(run, model, "-z", "how many?", "--output-schema", "schema.json")
    assert (done.returncode, done.stdout, model.requests) == (2, "", [])
    assert told in done.stderr


def test_a_picture_goes_with_the_question(run: Run, work: Path) -> None:
    (work / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    model = ScriptedModel("a dot")
    assert ask(run, model, "-z", "what is it?", "--image", "a.png").stdout == "a dot\n"
    assert model.requests[0]["messages"][-1]["content"] == [
        {"type": "text", "text": "what is it?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
    ]
    (work / "a.bin").write_bytes(b"\0\xff")
    refused = ask(run, ScriptedModel(), "-z", "what is it?", "--image", "a.bin")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "a.bin is neither a picture nor a PDF nor text." in refused.stderr


def piped_in(environ: dict[str, str], work: Path, data: bytes, *words: str) -> tuple[int, bytes, str]:
    """Exit code, stdout and stderr of the program with these bytes on its standard input."""
    done = subprocess.run(
        [sys.executable, "-m", "hermes", *words],
        cwd=work,
        env=environ,
        input=data,
        capture_output=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr.decode()


def test_a_picture_on_stdin_goes_with_the_question_and_other_bytes_are_refused(
    environ: dict[str, str], work: Path
) -> None:
    with ScriptedServer(
        model := ScriptedModel("a dot", say("a log", breaks_prefix=True))
    ).running() as server:
        asked = ("-z", "what is it?", "--base-url", server.base_url)
        assert piped_in(environ, work, b"\x89PNG\r\n\x1a\n", *asked)[:2] == (0, b"a dot\n")
        refused = piped_in(environ, work, b"\x1f\x8b\0\xff" * 50, *asked)
        assert refused[:2] == (2, b"")
        assert refused[2].startswith("hermes: What is on stdin is neither a picture nor a PDF nor text. A me")
        assert piped_in(environ, work, b"a line of J\xf6rg and more\n", *asked)[:2] == (0, b"a log\n")
    picture, log = (request["messages"][-1]["content"] for request in model.requests)
    assert picture[1] == {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    assert log == "what is it?\n\na line of J\ufffdrg and more\n"


def test_no_call_starts_once_the_money_of_the_run_is_spent(run: Run, environ: dict[str, str]) -> None:
    model = ScriptedModel(*[call("read_file", {"path": "notes.txt"})] * 5)
    done = ask(run, model, "-z", "go", "--max-cost", "0.002")
    assert (done.returncode, done.stdout) == (4, "")
    assert re.search(r"The money budget of this run is spent: \$0\.\d+ of \$0\.002\.", done.stderr)
    assert "--max-cost (max_cost) raises it." in done.stderr
    assert 1 <= len(model.requests) < 5
    assert run("-z", "hi", "--max-cost", "0").returncode == 2


@pytest.mark.parametrize("limit", ["nan", "inf"])
def test_a_limit_on_money_that_limits_nothing_is_refused(run: Run, limit: str) -> None:
    done = run("-z", "hi", "--max-cost", limit)
    assert (done.returncode, "it is no number that can be spent" in done.stderr) == (2, True)


def test_input_that_would_fill_the_window_is_in_a_file_that_the_model_pages(
    run: Run, environ: dict[str, str]
) -> None:
    Path(environ["HERMES_HOME"]).mkdir(parents=True, exist_ok=True)
    Path(environ["HERMES_HOME"], "config.yaml").write_text("model:\n  context_window: 20000\n")
    text = "".join(f"line {number} of the log\n" for number in range(1, 12_001))

    def page(request: dict[str, Any]) -> Turn:
        path = re.search(r"in the file (\S+);", request["messages"][-1]["content"])
        assert path is not None
        return call("read_file", {"path": path[1], "offset": 6000, "limit": 2})

    model = ScriptedModel(page, "the middle")
    assert ask(run, model, "-z", "what is in the middle?", given=text).stdout == "the middle\n"
    asked, _, result = (message["content"] for message in model.requests[1]["messages"][1:])
    assert asked.startswith(
        "what is in the middle?\n\nWhat was piped in is too long for one message: 12,000 lines, "
    )
    assert "line 12000 of the log" in asked
    assert json.loads(result)["content"].split("\n")[:2] == [
        "6000|line 6000 of the log", "6001|line 6001 of the log"
    ]  # fmt: skip


def test_on_a_terminal_the_answer_comes_as_it_is_written_and_once(
    environ: dict[str, str], work: Path
) -> None:
    model = ScriptedModel(
        call("terminal", {"command": "true"}, text="First I look."),
        say("One \x1b[31mtwo three", size=4, pause=0.3),
    )
    with ScriptedServer(model).running() as server:
        argv = [sys.executable, "-m", "hermes", "-z", "go", "--base-url", server.base_url]
        with Terminal(argv, cwd=work, env={**environ, "TERM": "xterm"}) as terminal:
            terminal.until("One")
            assert "three" not in terminal.text
            assert terminal.wait() == 0
    rows = [row for row in terminal.everything.splitlines() if row.strip()]
    assert [row.split("  ")[0] for row in rows] == ["First I look.", "💻 run", "One two three"]


def test_a_resumed_session_goes_on_with_the_same_log(run: Run) -> None:
    with ScriptedServer(ScriptedModel("one", "two")).running() as server:
        run("-z", "first", "--base-url", server.base_url)
        done = run("-c", "-z", "second", "--base-url", server.base_url)
    assert done.stdout == "two\n"
    assert [message["content"] for message in server.model.requests[1]["messages"][1:]] == [
        "first",
        "one",
        "second",
    ]
    listed = run("sessions", "list")
    assert listed.stdout.split()[3:5] == ["4", "custom/default"]
    assert run("sessions", "show").stdout.split("## ")[1:] == [
        "User\n\nfirst\n\n",
        "Hermes\n\none\n\n",
        "User\n\nsecond\n\n",
        "Hermes\n\ntwo\n",
    ]
    name = listed.stdout.split()[0]
    assert run("sessions", "rename", name[:15], "My", "talk").stdout == f"{name}: My talk\n"
    assert len(run("sessions", "export", "my talk", "--format", "jsonl").stdout.splitlines()) == 1 + 4
    heading, *lines = run("sessions", "search", "econ").stdout.splitlines()
    assert (heading.split(" · ")[0], heading.split(" · ")[-1]) == (name, "message 3")
    assert lines == ["  assistant: one", "> user: second", "  assistant: two", ""]
    (hit,) = map(
        json.loads, run("sessions", "search", "two", "--json", "--role", "assistant").stdout.splitlines()
    )
    assert (hit["session_id"], hit["match_message"], hit["snippet"]) == (name, 4, "two")
    assert [one["text"] for one in hit["messages"]] == ["second", "two"]
    assert run("sessions", "search", "two", "--role", "tool").returncode == 1
    assert run("sessions", "delete", "My talk", "--yes").stdout == f"{name} is deleted.\n"
    assert run("sessions", "show", name).returncode == 2


def test_a_call_that_is_interrupted_has_an_end_in_json(environ: dict[str, str], work: Path) -> None:
    nap = f"4322.{os.getpid()}"
    with ScriptedServer(
        ScriptedModel(call("terminal", {"command": f"sleep {nap}"}), say("never"))
    ).running() as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "hermes", "-z", "sleep", "--json", "--base-url", server.base_url],
            cwd=work, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        wait_for(lambda: f"sleep\x00{nap}" in commands())
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    lines = [json.loads(line) for line in out.splitlines()]
    began, ended = ([one for one in lines if one["kind"] == kind] for kind in ("tool_start", "tool_end"))
    assert [(one["id"], one["name"], one["failed"]) for one in ended] == [(began[0]["id"], "terminal", True)]
    assert (lines[-1]["status"], lines[-1]["answer"]) == ("interrupted", "")


def test_a_cut_answer_is_the_model_s_own_words_at_a_cost_that_is_not_known(
    environ: dict[str, str], work: Path
) -> None:
    with ScriptedServer(ScriptedModel(say("One of many words.", size=3, pause=2.0))).running() as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "hermes", "-z", "talk", "--json", "--base-url", server.base_url],
            cwd=work, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        while json.loads(process.stdout.readline())["kind"] != "text":
            pass
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    end = json.loads(out.splitlines()[-1])
    assert (end["status"], end["answer"], end["cost"]) == ("interrupted", "One", None)


def test_an_interrupt_ends_with_130_and_leaves_nothing_running(environ: dict[str, str], work: Path) -> None:
    nap = f"4321.{os.getpid()}"
    with ScriptedServer(
        ScriptedModel(call("terminal", {"command": f"sleep {nap} & sleep {nap}"}), say("never"))
    ).running() as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "hermes", "-z", "sleep", "--base-url", server.base_url],
            cwd=work,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_for(lambda: f"sleep\x00{nap}" in commands())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "stopped" in err
    wait_for(lambda: f"sleep\x00{nap}" not in commands())


STUCK = """
import pathlib, time
from tools.registry import registry

{kind} stuck(args, **_):
    pathlib.Path("started").touch()
    time.sleep(3600)

registry.register("stuck", "own", {{"name": "stuck"}}, stuck, is_async={is_async})
"""


@pytest.mark.parametrize(("kind", "is_async"), [("def", False), ("async def", True)])
def test_an_interrupt_ends_the_program_though_a_tool_never_returns(
    environ: dict[str, str], work: Path, kind: str, is_async: bool
) -> None:
    folder = Path(environ["HERMES_HOME"]) / "tools"
    folder.mkdir(parents=True)
    (folder / "stuck.py").write_text(STUCK.format(kind=kind, is_async=is_async))
    with ScriptedServer(ScriptedModel(call("stuck", {}), say("never"))).running() as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "hermes", "-z", "go", "--toolsets", "own", "--base-url", server.base_url],
            cwd=work,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            wait_for((work / "started").exists)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, out) == (130, "")
    assert "stopped" in err


def wait_for(condition: Callable[[], bool], seconds: float = 15) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def commands() -> str:
    return "".join(_commands())


def _commands() -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.read_text()
        except OSError:
            continue


def test_errors_are_one_sentence_and_a_traceback_only_with_debug(run: Run) -> None:
    done = run("-z", "hi", "--model", "opnrouter/x")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "hermes: There is no provider 'opnrouter'. Did you mean openrouter? hermes models list shows them; for your own server give --base-url.\n"
    )
    assert "Traceback" in run("-z", "hi", "--model", "opnrouter/x", "--debug").stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("sesions", "list"), "No such command 'sesions'. Did you mean 'sessions'?"),
        (("sessions", "exprt"), "No such command 'exprt'. Did you mean 'export'?"),
        (
            ("why", "is", "it", "slow"),
            "No such command 'why'. hermes --help lists them; hermes -z asks a question.",
        ),
    ],
)
def test_a_misspelt_command_names_the_one_that_was_meant(run: Run, words: tuple[str, ...], told: str) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(f"\nError: {told}\n")


def test_bad_settings_are_told_all_at_once_with_their_lines(run: Run, environ: dict[str, str]) -> None:
    home = Path(environ["HERMES_HOME"])
    home.mkdir()
    (home / "config.yaml").write_text("agent:\n  max_turns: many\nterminal:\n  sandbox: maybe\n")
    done = run("-z", "hi")
    assert done.returncode == 2
    assert "config.yaml line 2: agent.max_turns is 'many': expected a whole number, got text." in done.stderr
    assert "config.yaml line 4: terminal.sandbox is 'maybe'" in done.stderr


def test_config_knows_where_each_value_comes_from(run: Run) -> None:
    assert "from:    default" in run("config", "explain", "agent.max_turns").stdout
    assert run("config", "set", "agent.max_turns", "12").returncode == 0
    assert (
        "agent.max_turns = 12\n  from:    config.yaml line 2"
        in run("config", "explain", "agent.max_turns").stdout
    )
    assert (
        "from:    HERMES_MAX_ITERATIONS"
        in run("config", "explain", "agent.max_turns", HERMES_MAX_ITERATIONS="5").stdout
    )
    assert "Did you mean agent.max_turns?" in run("config", "get", "agent.max_turn").stderr
    assert run("config", "set", "tools.tool_search.enabled", "on").returncode == 0
    assert run("config", "get", "tools.tool_search.enabled").stdout == "on\n"
    explained = run("config", "explain", "tools.tool_search.enabled").stdout
    assert "tools.tool_search.enabled = on\n  from:    config.yaml line" in explained


def test_a_number_below_zero_is_a_value_and_told_with_the_range(run: Run) -> None:
    for words in (("config", "set", "model.max_retries", "-1"), ("-z", "hi", "--max-cost", "-1")):
        done = run(*words)
        assert done.returncode == 2
        assert "a whole number >= 0" in done.stderr or "-1.0 is not in the range x>0" in done.stderr


def test_a_section_is_explained_by_its_keys_and_a_list_by_how_it_is_set(run: Run) -> None:
    told = run("config", "explain", "goals").stdout.split()
    assert told[:2] == ["goals.max_turns", "20"]
    assert run("config", "explain", "goal").returncode == 2
    for key in ("agent.disabled_toolsets", "display.status"):
        shown = run("config", "explain", key).stdout
        name, _, sample = shown.partition("hermes config set ")[2].strip().partition(" ")
        assert name == key
        assert run("config", "set", key, sample.strip("'")).returncode == 0


def test_a_secret_goes_to_the_env_file_readable_by_its_owner_alone(run: Run, environ: dict[str, str]) -> None:
    assert run("config", "set", "OPENROUTER_API_KEY", "sk-test").returncode == 0
    path = Path(environ["HERMES_HOME"]) / ".env"
    assert (path.stat().st_mode & 0o777, path.read_text()) == (0o600, "OPENROUTER_API_KEY='sk-test'\n")
    assert "openrouter/…" in run("models", "list").stdout


def test_tools_list_shows_tools_and_files_that_failed(run: Run, environ: dict[str, str]) -> None:
    folder = Path(environ["HERMES_HOME"]) / "tools"
    folder.mkdir(parents=True)
    (folder / "broken.py").write_text("import nowhere\nregistry.register(name='x')\n")
    done = run("tools", "list")
    assert done.returncode == 0
    assert {"terminal", "process", "read_file", "write_file", "patch", "search_files", "todo"} <= {
        line.split()[0] for line in done.stdout.splitlines()
    }
    assert "broken.py could not be loaded: ModuleNotFoundError: No module named 'nowhere'" in done.stderr


def test_every_line_of_doctor_that_is_not_fine_says_what_to_do(
    run: Run, environ: dict[str, str], bare: dict[str, str]
) -> None:
    told = run("doctor", **{**bare, "HERMES_SANDBOX": "off"}).stdout.splitlines()
    found = {line.partition(":")[0]: line for line in told if line.startswith(("!", "✗"))}
    assert found.pop("! model").endswith("or with hermes models pull qwen2.5-coder-1.5b")
    assert {name: line.partition("; ")[2] for name, line in found.items()} == {
        "! sandbox": "dangerous commands ask. hermes config set terminal.sandbox auto has it on",
        "✗ bash": "commands cannot run until it is installed",
        "! git": "no branch in the prompt, and no worktrees; install git",
        "! rg": "searches use a slower way; the package ripgrep has it",
    }
    unenforced = [one for one in run("doctor").stdout.splitlines() if one.startswith("! sandbox, ")]
    assert [one for one in unenforced if one.count("; ") < 1 or one.endswith("; ")] == []


def test_doctor_reads_only_and_its_exit_code_says_it(run: Run, environ: dict[str, str], work: Path) -> None:
    before = sorted(Path(environ["HOME"]).rglob("*"))
    done = run("doctor", "--help")
    assert done.returncode == 0
    well = run("doctor")
    assert well.returncode == 0, well.stdout
    assert sorted(Path(environ["HOME"]).rglob("*")) == before
    home = Path(environ["HERMES_HOME"])
    home.mkdir()
    (home / "sessions.db").write_text("no database" * 500)
    ill = run("doctor")
    assert ill.returncode == 1
    assert "is damaged" in ill.stdout


@pytest.mark.parametrize("sandbox", ["auto", "off"])
def test_no_command_changes_our_settings_under_yolo(
    run: Run, environ: dict[str, str], work: Path, sandbox: str
) -> None:
    """By name it is refused; behind a script our own program refuses."""
    config = Path(environ["HERMES_HOME"]) / "config.yaml"
    config.parent.mkdir()
    config.write_text(f"terminal: {{sandbox: {sandbox!r}}}\n")
    own = f"{sys.executable} -m hermes config set approvals.mode 'off'"
    (work / "x.sh").write_text(f"{own}\n{sys.executable} -m hermes model local\n")
    model = ScriptedModel(
        call("terminal", {"command": own}),
        call("terminal", {"command": f"echo 'approvals: {{mode: off}}' >> {config}"}),
        call("terminal", {"command": "sh x.sh"}),
        call("write_file", {"path": str(config), "content": "approvals: {mode: off}"}),
        say("done"),
    )
    done = ask(run, model, "-z", "go", "--yolo")
    shown = str(model.requests[-1]["messages"])
    assert (done.stdout, config.read_text()) == ("done\n", f"terminal: {{sandbox: {sandbox!r}}}\n")
    assert shown.count("This runs in a command that Hermes has started") == 2
    assert shown.count("only they can") == 2


OWN_CODE = {
    "a script": ("build.py", "open('ran', 'w')", "python3 build.py"),
    "a target": ("Makefile", "all:\n\ttouch ran\n", "make"),
    "a test": ("test_x.py", "open('ran', 'w')", "python3 -m unittest test_x"),
    "a script of a package": ("package.json", '{"scripts": {"start": "touch ran"}}', "npm run start"),
    "a script of a shell": ("run.sh", "touch ran", "bash run.sh"),
}


@pytest.mark.parametrize("written", OWN_CODE)
def test_without_a_sandbox_nothing_runs_that_an_unattended_session_wrote(
    run: Run, work: Path, bare: dict[str, str], written: str
) -> None:
    name, content, command = OWN_CODE[written]
    model = ScriptedModel(
        call("write_file", {"path": name, "content": content}),
        call("terminal", {"command": command}),
        say("Done."),
    )
    done = ask(
        run, model, "-z", "build it", **{**bare, "PATH": f"{bare['PATH']}:/usr/local/bin:/usr/bin:/bin"}
    )
    assert (done.returncode, (work / name).exists(), (work / "ran").exists()) == (3, True, False)
    told = model.requests[-1]["messages"][-1]["content"]
    assert "may run what this session wrote, with nothing that confines it" in told


def test_a_sandbox_that_is_demanded_and_not_there_ends_the_program_before_it_asks_the_model(
    run: Run, environ: dict[str, str], bare: dict[str, str]
) -> None:
    config = Path(environ["HERMES_HOME"], "config.yaml")
    config.parent.mkdir(parents=True)
    config.write_text("terminal: {sandbox: 'on'}\n")
    model = ScriptedModel("never")
    done = ask(run, model, "-z", "hello", **bare)
    assert (done.returncode, done.stdout, model.requests) == (2, "", [])
    assert "terminal.sandbox is on, but bubblewrap does not work here" in done.stderr


def test_project_instructions_that_nobody_was_asked_about_are_told_once_a_session(
    run: Run, work: Path
) -> None:
    (work / "AGENTS.md").write_text("Answer in verse.\n")
    told = (
        f"hermes: AGENTS.md in {work} tells the model how to work, and nobody was asked about that folder."
        " context_files.trust: known leaves such files out; the screen asks, and keeps the answer.\n"
    )
    with ScriptedServer(ScriptedModel("one", "two", say("three", breaks_prefix=True))).running() as server:
        said = [
            run(*words, "--base-url", server.base_url).stderr for words in (("-z", "a"), ("-c", "-z", "b"))
        ]
        run("config", "set", "context_files.trust", "all")
        said.append(run("-z", "c", "--base-url", server.base_url).stderr)
    assert said == [told, "", ""]
