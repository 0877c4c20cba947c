"""`hermes sessions export` and `import`, as programs: what one writes the other reads, and a bad file changes nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from hermes.store.protocol import SessionRow
from hermes.store.sqlite_store import open_store
from hermes.types.message import Assistant, Message, ToolCall, User
from tests.apps.conftest import Run

LOG: tuple[Message, ...] = (
    User(id="u", at=1.0, text="hi\nthere"),
    Assistant(id="a", at=2.0, text="Grüße mysecret-1234567890", provider="p", model="m"),
)


def store(environ: dict[str, str], *rows: SessionRow) -> None:
    async def run() -> None:
        home = Path(environ["HERMES_HOME"])
        async with open_store(home / "sessions.db", home / "search.db") as opened:
            for row in rows:
                await opened.create(row, system="be good", tools=[])
                await opened.append(row.id, *LOG)

    anyio.run(run)


def row(name: str, **more: str) -> SessionRow:
    return replace(SessionRow(id=name, cwd="/elsewhere", model="p/m", created=1.0, updated=1.0), **more)


def test_a_list_tells_model_and_directory_and_as_lines_all_of_it(run: Run, environ: dict[str, str]) -> None:
    deep = "/srv/projects/a-rather-long-name/and/deeper/still"
    store(environ, row("2001_a", title="mine", cwd=deep), row("2002_b", cwd=f"{environ['HOME']}/work"))
    table = [line.split("  ") for line in run("sessions", "list").stdout.splitlines()]
    assert [[cell.strip() for cell in cells if cell][2:] for cells in table] == [
        ["2", "p/m", "~/work", "hi"],
        ["2", "p/m", "…-long-name/and/deeper/still", "mine"],
    ]
    first, last = map(json.loads, run("sessions", "list", "--json").stdout.splitlines())
    assert (first["session"], first["directory"]) == ("2002_b", f"{environ['HOME']}/work")
    assert last == {
        "session": "2001_a", "last_used": last["last_used"], "messages": 2, "model": "p/m",
        "directory": deep, "title": "mine",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("models", "list"), ["model", "state", "where"]),
        (("tools", "list"), ["tool", "toolset", "state", "what_it_does"]),
        (("config", "list"), ["key", "value", "from"]),
        (("profiles", "list"), ["in_force", "name"]),
        (("models", "pull"), ["model", "download", "memory", "state", "licence"]),
        (("approvals", "list"), ["number", "covers", "what", "left", "until"]),
    ],
)
def test_every_list_comes_as_lines_of_json(
    run: Run, environ: dict[str, str], words: tuple[str, ...], names: list[str]
) -> None:
    home = Path(environ["HERMES_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text("command_allowlist: ['git status']\n")
    lines = run(*words, "--json").stdout.splitlines()
    assert {tuple(json.loads(line)) for line in lines} == {tuple(names)}


def test_values_in_json_are_what_they_are_and_secrets_stay_hidden(run: Run, environ: dict[str, str]) -> None:
    home = Path(environ["HERMES_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    key = f"sk-ant-api03-{'Ab1' * 30}"
    (home / "config.yaml").write_text(
        f"agent: {{max_turns: 7}}\nmodel: {{default: {key}}}\nmemory: {{provider: ''}}\n"
    )
    rows = {
        one["key"]: one["value"]
        for one in map(json.loads, run("config", "list", "--json").stdout.splitlines())
    }
    assert (rows["agent.max_turns"], rows["memory.provider"], rows["command_allowlist"]) == (7, "", [])
    assert key not in rows["model.default"]
    assert [json.loads(line) for line in run("profiles", "list", "--json").stdout.splitlines()] == [
        {"in_force": True, "name": "default"}
    ]


def test_a_session_goes_out_and_in_again(run: Run, work: Path, environ: dict[str, str]) -> None:
    store(environ, row("2001_a", title="mine"))
    first = run("sessions", "export", "2001_a", "--format", "jsonl").stdout
    (work / "out.jsonl").write_text(first)
    done = run("sessions", "import", "out.jsonl")
    assert (done.returncode, done.stdout.endswith(": 2 messages.\n"), done.stdout[:6] == "2001_a") == (
        0,
        True,
        False,
    )
    second = run("sessions", "export", done.stdout.partition(":")[0], "--format", "jsonl").stdout
    assert second.splitlines()[1:] == first.splitlines()[1:]
    header = json.loads(second.splitlines()[0])["session"]
    assert (header["title"], header["cwd"], header["outside"]) == (
        "mine",
        str(work),
        "the imported session 2001_a",
    )


def test_a_bad_file_is_told_in_a_sentence_and_nothing_is_stored(
    run: Run, work: Path, environ: dict[str, str]
) -> None:
    store(environ, row("2001_a"))
    lines = run("sessions", "export", "2001_a", "--format", "jsonl").stdout.splitlines()
    for name, found, told in (
        ("cut", [*lines[:2], lines[2][:20]], "Line 3 is no message"),
        ("twice", [*lines[:2], lines[1]], "Line 3 may not follow the one before it"),
    ):
        (work / name).write_text("\n".join(found))
        done = run("sessions", "import", name)
        assert (done.returncode != 0, told in done.stderr, done.stderr.count("\n")) == (True, True, 1)
    assert run("sessions", "list").stdout.count("\n") == 1


def test_a_file_that_ends_early_is_told_and_one_that_does_not_say_its_length_is_taken(
    run: Run, work: Path, environ: dict[str, str]
) -> None:
    store(environ, row("2001_a"))
    lines = run("sessions", "export", "2001_a", "--format", "jsonl").stdout.splitlines()
    old = json.loads(lines[0])
    assert old.pop("messages") == 2
    told = "hermes: the file ends after 1 of 2 messages.\n"
    for name, found, number, said in (
        ("short", lines[:2], "1", told),
        ("old", [json.dumps(old), *lines[1:2]], "1", ""),
        ("whole", lines, "2", ""),
    ):
        (work / name).write_text("\n".join(found))
        done = run("sessions", "import", name)
        assert (done.returncode, done.stdout.partition(": ")[2], done.stderr) == (
            0,
            f"{number} messages.\n",
            said,
        )


def test_an_example_goes_to_its_file_without_credentials(
    run: Run, work: Path, environ: dict[str, str]
) -> None:
    store(environ, row("2001_a"))
    (Path(environ["HERMES_HOME"]) / ".env").write_text("SOME_API_KEY=mysecret-1234567890\n")
    run("sessions", "export", "2001_a", "--format", "sharegpt", "--to", "out")
    (line,) = (work / "out" / "trajectory_samples.jsonl").read_text().splitlines()
    said = json.loads(line)["conversations"]
    assert [one["from"] for one in said] == ["system", "human", "gpt"]
    assert ("Grüße" in line, "mysecret-1234567890" in line) == (True, False)
    assert (
        json.loads(run("sessions", "export", "2001_a", "--format", "sharegpt").stdout)["conversations"]
        == said
    )


@pytest.mark.parametrize("command", ["show", "export"])
def test_a_known_key_is_not_in_a_session_as_markdown(
    run: Run, work: Path, environ: dict[str, str], command: str
) -> None:
    keys = {"HOME_API_KEY": "mysecret-1234567890", "WORK_API_KEY": "8sJq2LmX4vTz9RkW1bYc"}
    raw = json.dumps({"command": f"echo {' '.join(keys.values())}"})
    calls = (ToolCall(id="c", name="terminal", arguments=json.loads(raw), raw=raw),)

    async def add() -> None:
        home = Path(environ["HERMES_HOME"])
        async with open_store(home / "sessions.db", home / "search.db") as opened:
            await opened.create(row("2001_a", cwd=str(work)), system="", tools=[])
            await opened.append("2001_a", *LOG, replace(LOG[1], id="b", text="", calls=calls))

    anyio.run(add)
    for name, folder in zip(keys, (Path(environ["HERMES_HOME"]), work), strict=True):
        (folder / ".env").write_text(f"{name}={keys[name]}\n")
    shown = run("sessions", command, "2001_a").stdout
    assert "Grüße [redacted]" in shown
    assert '- `terminal` {"command": "echo [redacted] [redacted]"}' in shown


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_known_key_is_not_in_what_a_search_finds(
    run: Run, environ: dict[str, str], form: tuple[str, ...]
) -> None:
    key = "mysecret-1234567890"
    long = User(id="x", at=3.0, text=f"elm {'.' * 45} {key} elm")
    raw = json.dumps({"command": f"echo {key}"})
    calls = (ToolCall(id="c", name="terminal", arguments=json.loads(raw), raw=raw),)

    async def add() -> None:
        home = Path(environ["HERMES_HOME"])
        async with open_store(home / "sessions.db", home / "search.db") as opened:
            await opened.create(row("2001_a", title=f"about {key}"), system="", tools=[])
            await opened.append("2001_a", long, replace(LOG[1], id="b", calls=calls))

    anyio.run(add)
    (Path(environ["HERMES_HOME"]) / ".env").write_text(f"HOME_API_KEY={key}\n")
    found = run("sessions", "search", "elm", *form).stdout
    listed = run("sessions", "list").stdout
    assert ("Grüße [redacted]" in found, "about [redacted]" in found) == (True, True)
    assert [part for part in ("mysecret", "1234567890") if part in found + listed] == []


def test_branches_stand_below_their_session(run: Run, work: Path, environ: dict[str, str]) -> None:
    del work
    origins = {"b": "a", "c": "", "d": "b", "e": "a", "f": "e"}
    store(environ, row("2001_a"), *[row(f"2001_{one}", origin=f"2001_{of}") for one, of in origins.items()])
    shown = run("sessions", "tree").stdout.splitlines()
    assert [line[: line.index("2001") + 6] for line in shown] == [
        "2001_c", "2001_a", "├─ 2001_b", "│  └─ 2001_d", "└─ 2001_e", "   └─ 2001_f",
    ]  # fmt: skip
    named = map(json.loads, run("sessions", "tree", "--json").stdout.splitlines())
    assert [(one["session"], one["from"]) for one in named][1:3] == [("2001_a", ""), ("2001_b", "2001_a")]


@pytest.mark.parametrize("command", [("show", "2001_a"), ("search", "elm")])
def test_what_would_not_be_seen_in_a_session_is_written_out(
    run: Run, environ: dict[str, str], command: tuple[str, ...]
) -> None:
    forged = User(id="x", at=3.0, text="elm\u202e gpj\x1b[2J\x07 \x9b31m\u200b\rend")

    async def add() -> None:
        home = Path(environ["HERMES_HOME"])
        async with open_store(home / "sessions.db", home / "search.db") as opened:
            await opened.create(row("2001_a"), system="", tools=[])
            await opened.append("2001_a", forged)

    anyio.run(add)
    shown = run("sessions", *command).stdout
    assert "elm⟨U+202E⟩ gpj" in shown
    assert not [one for one in "\u202e\x1b\x07\x9b\u200b\r" if one in shown]


def test_an_export_has_what_was_said_and_a_terminal_gets_no_escapes_of_it(
    run: Run, environ: dict[str, str], work: Path
) -> None:
    async def add() -> None:
        home = Path(environ["HERMES_HOME"])
        async with open_store(home / "sessions.db", home / "search.db") as opened:
            await opened.create(row("2001_a"), system="", tools=[])
            await opened.append("2001_a", User(id="x", at=3.0, text="elm\x1b]52;c;QQ==\x07 \x9b2J\u202e"))

    anyio.run(add)
    assert "elm\x1b]52;c;QQ==\x07 \x9b2J\u202e" in run("sessions", "export", "2001_a").stdout
    above, below = os.openpty()
    words = [sys.executable, "-m", "hermes", "sessions", "export", "2001_a"]
    subprocess.run(words, cwd=work, env=environ, stdin=subprocess.DEVNULL, stdout=below, check=True)
    os.close(below)
    shown = os.read(above, 65536).decode().replace("\r\n", "\n")
    os.close(above)
    assert "elm ⟨U+202E⟩" in shown
    assert all(one.isprintable() or one == "\n" for one in shown)
