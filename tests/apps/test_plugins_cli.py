"""`hermes plugins`, as a program: what comes from elsewhere is shown, put in its place and run when it is enabled."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hermes.config.edit import list_items
from hermes.testing import ScriptedModel, ScriptedServer, say
from tests.apps.conftest import Run
from tests.apps.test_tui_program import Place
from tests.repositories import begin, commit

MANIFEST = "name: luck\nversion: '1.2'\ndescription: Tosses coins\nauthor: Ann\nprovides_tools: [coin]\n"
CODE = """
from pathlib import Path
(Path(__file__).parent / "ran").touch()

def toss(given):
    print("heads" if given.side == "h" else "tails", given.times)

def register(ctx):
    schema = {"name": "coin", "description": "Toss.", "parameters": {"type": "object", "properties": {}}}
    ctx.register_tool("coin", "games", schema, lambda args, **_: '{"side": "heads"}')
    def setup(parser):
        parser.add_argument("side")
        parser.add_argument("--times", type=int, default=1)
    ctx.register_cli_command("toss", "Toss a coin", setup, toss)
    ctx.register_command("say", lambda words: ctx.inject_message(words) and "")
"""

QUIET = CODE.replace('(Path(__file__).parent / "ran").touch()\n', "")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    top = tmp_path / "repository"
    (top / "luck").mkdir(parents=True)
    (top / "luck" / "plugin.yaml").write_text(MANIFEST)
    (top / "luck" / "__init__.py").write_text(CODE)
    begin(top)
    return top


def test_a_plugin_of_a_repository_is_installed_enabled_used_updated_and_removed(
    repository: Path, environ: dict[str, str], run: Run
) -> None:
    address = f"file://{repository}#luck"
    place = Path(environ["HERMES_HOME"], "plugins", "luck")
    done = run("plugins", "install", address, "--yes")
    assert done.stdout.splitlines() == [
        "luck 1.2: Tosses coins",
        "author: Ann",
        "tools: coin",
        "files: __init__.py, plugin.yaml",
        f"Installed in {place}. hermes plugins enable luck has it loaded.",
    ]
    assert run("plugins", "list").stdout.split() == ["luck", "off", "user", "1.2", "Tosses", "coins"]
    assert run("toss", "h").returncode == 2
    assert run("plugins", "enable", "luck").stdout == (
        "luck is enabled; it is loaded in sessions that begin now.\n"
    )
    assert not (place / "ran").exists()
    assert run("plugins", "list").stdout.split()[:4] == ["luck", "loaded", "user", "1.2"]
    assert run("toss", "h", "--times", "3").stdout == "heads 3\n"
    assert run("--safe-mode", "toss", "h").returncode == 2
    listed = [line.split()[:2] for line in run("tools", "list").stdout.splitlines()]
    assert ["coin", "games"] in listed
    (place / "ran").unlink()
    assert run("plugins", "update").stdout == "luck: up to date\n"
    (repository / "luck" / "plugin.yaml").write_text(MANIFEST.replace("1.2", "1.3"))
    commit(repository)
    assert run("plugins", "update", "-y").stdout == "luck 1.3: changed plugin.yaml\nluck: updated\n"
    told = run("plugins", "show", "luck").stdout
    assert ("version: 1.3" in told, "adds: tool coin, subcommand toss, command say" in told) == (True, True)
    assert run("plugins", "disable", "luck").stdout == "luck is off in sessions that begin now.\n"
    asked = run("plugins", "remove", "luck", given="")
    assert (asked.returncode, "There was no answer; -y removes without asking." in asked.stderr) == (2, True)
    assert run("plugins", "remove", "luck", "-y").stdout == "luck is gone.\n"
    assert not place.exists()
    again = run("plugins", "install", address, "--yes", "--enable").stdout
    assert again.endswith(f"Installed in {place}. It is loaded in sessions that begin now.\n")
    assert run("plugins", "list").stdout.split()[:2] == ["luck", "loaded"]


def test_plugins_that_several_processes_enable_and_disable_at_once_are_all_as_they_were_told(
    environ: dict[str, str], run: Run
) -> None:
    home = Path(environ["HERMES_HOME"])
    names = [f"p{number}" for number in range(6)]
    for name in names:
        (home / "plugins" / name).mkdir(parents=True)
        (home / "plugins" / name / "plugin.yaml").write_text(f"name: {name}\n")
        (home / "plugins" / name / "__init__.py").write_text("def register(ctx): pass\n")
    (home / "config.yaml").write_text(json.dumps({"plugins": {"enabled": names[:3]}}))
    words = [("disable", name) for name in names[:3]] + [("enable", name) for name in names[3:]]
    with ThreadPoolExecutor(6) as pool:
        done = list(pool.map(lambda one: run("plugins", *one).returncode, words))
    left = sorted(list_items(home / "config.yaml", "plugins.enabled"))
    assert (done, left) == ([0] * 6, names[3:])


LINKS = {"absolute": "/etc", "relative": "../../..", "back": "folder/../../..", "chain": "second"}


@pytest.mark.parametrize("target", LINKS.values(), ids=LINKS)
def test_a_plugin_whose_links_lead_out_of_it_is_neither_installed_nor_enabled(
    environ: dict[str, str], run: Run, work: Path, target: str
) -> None:
    home = Path(environ["HERMES_HOME"])
    folder = work / ".hermes" / "plugins" / "luck"
    (folder / "folder").mkdir(parents=True)
    (folder / "plugin.yaml").write_text(MANIFEST)
    (folder / "__init__.py").write_text(CODE)
    (folder / "out").symlink_to(target)
    if target == "second":
        (folder / "second").symlink_to("../elsewhere")
    home.mkdir(parents=True)
    (home / "config.yaml").write_text("plugins: {project: true, enabled: [luck]}\n")
    (home / "trust.json").write_text(json.dumps({str(work.resolve()): True}))
    for words in (("install", str(folder), "-y"), ("enable", "luck")):
        done = run("plugins", *words)
        why = f"is a link to {target}, which leads out of the plugin."
        assert (done.returncode, done.stdout, done.stderr) == (1, "", f"hermes: {folder}/out {why}\n")
    assert not (home / "plugins" / "luck").exists()
    assert run("plugins", "list").stdout.split()[:2] == ["luck", "faulty"]


def test_links_inside_of_a_plugin_are_among_its_files_with_where_they_lead(
    repository: Path, run: Run
) -> None:
    (repository / "luck" / "data").mkdir()
    (repository / "luck" / "data" / "one.txt").touch()
    (repository / "luck" / "again").symlink_to("data")
    (repository / "luck" / "code.py").symlink_to("__init__.py")
    told = run("plugins", "install", str(repository / "luck"), "-y").stdout.splitlines()[3]
    assert told == "files: __init__.py, again -> data, code.py -> __init__.py, data/one.txt, plugin.yaml"


def test_no_link_of_a_repository_is_taken_for_a_plugin_of_it(
    repository: Path, tmp_path: Path, run: Run
) -> None:
    (repository / "luck").rename(tmp_path / "luck")
    (repository / "luck").symlink_to(tmp_path / "luck")
    done = run("plugins", "install", str(repository), "-y")
    assert done.stderr == "hermes: Name one of its plugins with #PATH; there are: none.\n"


def test_a_plugin_is_updated_after_a_yes_to_the_files_that_are_others(repository: Path, run: Run) -> None:
    run("plugins", "install", f"file://{repository}#luck", "-y", "--enable")
    (repository / "luck" / "more.py").touch()
    (repository / "luck" / "__init__.py").write_text("def register(ctx): pass\n")
    commit(repository)
    unasked = run("plugins", "update")
    assert (unasked.returncode, "There was no answer; -y updates" in unasked.stderr) == (2, True)
    told = "luck 1.2: added more.py; changed __init__.py"
    left = run("plugins", "update", given="n\n").stdout.splitlines()
    assert (left[0], left[-1].endswith("luck: left as it is")) == (told, True)
    assert run("plugins", "update", "-y").stdout.splitlines() == [told, "luck: updated"]


def test_a_plugin_that_takes_the_name_of_one_that_is_gone_has_nothing_of_its_rights(
    repository: Path, environ: dict[str, str], run: Run
) -> None:
    home, where = Path(environ["HERMES_HOME"]), str(repository / "luck")
    run("plugins", "install", where, "-y")
    run("plugins", "enable", "luck", "--allow-tool-override")
    run("plugins", "remove", "luck", "-y")
    assert (home / "config.yaml").read_text() == "plugins:\n  enabled: []\n"
    (home / "config.yaml").write_text("plugins: {enabled: [luck, other]}\n")
    told = run("plugins", "install", where, "-y").stdout
    assert told.endswith("hermes plugins enable luck has it loaded.\n")
    assert (home / "config.yaml").read_text() == "plugins: {enabled: [other]}\n"
    assert run("plugins", "list").stdout.split()[:2] == ["luck", "off"]


def test_a_projects_plugin_runs_as_it_was_when_it_was_enabled(
    environ: dict[str, str], run: Run, work: Path
) -> None:
    folder, home = work / ".hermes" / "plugins" / "luck", Path(environ["HERMES_HOME"])
    folder.mkdir(parents=True)
    (folder / "plugin.yaml").write_text(MANIFEST)
    (folder / "__init__.py").write_text(CODE)
    home.mkdir(parents=True)
    (home / "config.yaml").write_text("plugins: {project: true}\n")
    (home / "trust.json").write_text(json.dumps({str(work.resolve()): True}))

    def state() -> list[str]:
        return run("plugins", "list").stdout.split()[:3]

    assert state() == ["luck", "off", "project"]
    run("plugins", "enable", "luck")
    assert (state(), (folder / "ran").exists()) == (["luck", "loaded", "project"], False)
    (folder / "__init__.py").write_text("raise SystemExit")
    changed = run("plugins", "list")
    assert changed.stdout.split()[:3] == ["luck", "faulty", "project"]
    assert "nobody has looked at its files as they are now" in changed.stderr
    (folder / "more.py").write_text("")
    (folder / "__init__.py").write_text(QUIET.replace("Toss.", "Toss!\x1b[8m"))
    shown = run("plugins", "enable", "luck", given="n\n")
    told = "since it was enabled: added more.py; removed ran; changed __init__.py"
    assert shown.stdout.splitlines()[0] == told
    assert '+    schema = {"name": "coin", "description": "Toss!⟨U+001B⟩[8m"' in shown.stdout
    assert shown.stdout.endswith("Nothing was changed.\n")
    assert state() == ["luck", "faulty", "project"]
    assert run("plugins", "enable", "luck", "-y").stdout.endswith("sessions that begin now.\n")
    assert state() == ["luck", "loaded", "project"]
    assert run("plugins", "enable", "luck").stdout == (
        "luck is enabled; it is loaded in sessions that begin now.\n"
    )


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_a_new_session_of_a_running_screen_has_what_was_enabled_since(tmp_path: Path, term: str) -> None:
    place, enter = Place(tmp_path), "\r" if term != "dumb" else "\n"
    folder = place.home / ".hermes" / "plugins" / "luck"
    folder.mkdir(parents=True)
    (folder / "plugin.yaml").write_text(MANIFEST)
    (folder / "__init__.py").write_text(
        "def register(ctx):\n    ctx.register_command('luck', lambda words: f'good {words}!')\n"
    )
    with (
        ScriptedServer(ScriptedModel()).running() as server,
        place.window(server.base_url, 100, 40, "", {"TERM": term}) as terminal,
    ):
        terminal.until("/help" if term != "dumb" else "an empty line leaves")
        (place.home / ".hermes" / "config.yaml").write_text("plugins: {enabled: [luck]}\n")
        terminal.type(f"/new{enter}")
        terminal.until("The plugin luck is loaded from now on.")
        terminal.type(f"/luck day{enter}")
        terminal.until("good day!")


def test_a_faulty_plugin_is_named_by_the_list_doctor_and_a_session(environ: dict[str, str], run: Run) -> None:
    folder = Path(environ["HERMES_HOME"], "plugins", "bad")
    folder.mkdir(parents=True)
    (folder / "plugin.yaml").write_text("name: bad\n")
    (folder / "__init__.py").write_text("def register(ctx):\n    raise SystemExit(4)\n")
    run("plugins", "enable", "bad")
    fault = "plugin bad: SystemExit: 4"
    listed = run("plugins", "list")
    assert (listed.stdout.split(), listed.stderr) == (["bad", "faulty", "user"], f"hermes: {fault}\n")
    assert f"! {fault}" in run("doctor").stdout
    with ScriptedServer(ScriptedModel(say("hello"))).running() as server:
        done = run("-z", "hi", "-m", "m", "--base-url", server.base_url)
    assert (done.stdout, fault in done.stderr) == ("hello\n", True)


def test_an_unknown_command_is_told_as_one_whatever_is_wrong_with_the_settings(
    environ: dict[str, str], run: Run
) -> None:
    home = Path(environ["HERMES_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text("plugins: {enabled: 7}\n")
    done = run("frobnicate")
    assert (done.returncode, "No such command 'frobnicate'" in done.stderr) == (2, True)


def test_what_is_no_plugin_is_not_installed(tmp_path: Path, run: Run) -> None:
    (tmp_path / "empty").mkdir()
    told = [run("plugins", "install", where, "-y").stderr for where in (str(tmp_path / "empty"), "what")]
    place = (
        "hermes: 'what' is no place of plugins: name a folder, owner/repository/path of GitHub, or the"
        " https address of a git repository, with #path for one of its plugins.\n"
    )
    assert told == ["hermes: Name one of its plugins with #PATH; there are: none.\n", place]
    assert "There is no plugin 'lack'" in run("plugins", "enable", "lack").stderr


def with_luck(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    folder = place.home / ".hermes" / "plugins" / "luck"
    folder.mkdir(parents=True)
    (folder / "plugin.yaml").write_text(MANIFEST)
    (folder / "__init__.py").write_text(CODE.replace('(words) and ""', '(words) and "", "Say it"'))
    (place.home / ".hermes" / "config.yaml").write_text(json.dumps({"plugins": {"enabled": ["luck"]}}))
    return place


def test_a_command_of_a_plugin_may_send_a_message_where_there_is_no_screen(tmp_path: Path) -> None:
    place = with_luck(tmp_path)
    with (
        ScriptedServer(ScriptedModel(say("understood"))).running() as server,
        place.window(server.base_url, 80, 24, "", {"TERM": "dumb"}) as terminal,
    ):
        terminal.until("an empty line leaves")
        terminal.type("/say hello\n")
        terminal.until("understood")


def test_a_slash_command_of_a_plugin_is_offered_and_may_send_a_message(tmp_path: Path) -> None:
    with with_luck(tmp_path).open(say("understood")) as terminal:
        terminal.until("(main")
        terminal.type("/sa")
        terminal.until("❯ /say              Say it")
        terminal.type("y hello\r")
        terminal.until("understood")
