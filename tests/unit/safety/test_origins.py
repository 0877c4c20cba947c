"""Whether a result is from outside is told by what its source can reach: the words in it are never asked."""

import pytest
from msgspec.structs import replace

from hermes.safety.commands.paths import is_within
from hermes.safety.decide import Policy, decide
from hermes.safety.origins import came_from, is_outside, provenance
from hermes.safety.outside_folders import OutsideFolder
from hermes.types.action import Action, Command, FileAccess, ToolUse
from hermes.types.needs import NO_NEEDS, Needs
from hermes.types.tool import ToolEntry, ToolManifest

OPEN = Policy(workspace="/data/project", home="/home/user", hermes_home="/home/user/.hermes", yolo=True)
CONFINED = replace(OPEN, sandbox="workspace")


def named(action: Action, policy: Policy = OPEN) -> str:
    return came_from(action, decide(action, policy), policy)


def command(line: str, needs: Needs = NO_NEEDS) -> Command:
    return Command(command=line, cwd="/data/project", needs=needs)


@pytest.mark.parametrize(
    "line",
    [
        "curl  -s https://x.example/",
        "curl http://127.0.0.1:8/",
        "ls; git fetch",
        "git clone https://x.example/a.git",
        "pip install x",
        "wget -qO a.tar.gz https://x.example/a && tar xf a.tar.gz",
        "ssh host cat notes",
        "cat ~/Downloads/a.txt",
        "cd ~/Downloads && cat a.txt",
        "cat node_modules/a/README.md",
        "head -5 < .venv/lib/python3.12/site-packages/a/METADATA",
        "cp node_modules/a/README.md notes.md",
        "tar xf /home/user/Downloads/a.tar",
        "cat letter.eml",
        "bash -c 'cat node_modules/*/README.md'",
    ],
)
def test_a_command_that_can_bring_in_words_of_others_has_a_name(line: str) -> None:
    assert named(command(line)) == f"the output of `{' '.join(line.split())}`"


@pytest.mark.parametrize(
    "line",
    [
        "make test",
        "cat page.md",
        "git log -3",
        "rm -rf node_modules",
        "ls node_modules",
        "python3 -m compileall -q .",
        "grep -rn x src",
    ],
)
def test_work_on_files_of_the_workspace_has_none(line: str) -> None:
    assert (named(command(line)), named(command(line), CONFINED)) == ("", "")


def test_without_a_network_nothing_comes_from_it() -> None:
    assert named(command("curl -s https://x.example/"), CONFINED) == ""


@pytest.mark.parametrize("needs", [Needs(network=True), Needs(unconfined=True)], ids=str)
def test_what_was_given_the_network_may_have_used_it(needs: Needs) -> None:
    line = "python3 fetch.py"
    assert named(command(line, needs), CONFINED) == f"the output of `{line}`"
    assert named(command(line, needs), replace(CONFINED, network=True)) == f"the output of `{line}`"


@pytest.mark.parametrize(
    ("line", "foreign"),
    [
        ("git config user.name U && git remote add origin ../q", False),
        ("true", False),
        ("git branch -m old new; ls", False),
        ("git fetch", True),
        ("git log", True),
        ("make", True),
        ("git config user.name U; ./deploy", True),
        ("cat < /dev/tcp/evil.example/80", True),
    ],
)
def test_out_of_the_sandbox_only_known_programs_of_this_machine_bring_nothing(
    line: str, foreign: bool
) -> None:
    name = f"the output of `{line}`" if foreign else ""
    assert named(command(line, Needs(unconfined=True)), CONFINED) == name


def test_what_the_sandbox_keeps_to_some_hosts_comes_from_these() -> None:
    needs = Needs(hosts=("x.example", "y.example"))
    assert named(command("python3 fetch.py", needs), CONFINED) == "requests to x.example, y.example"
    assert named(command("curl x.example", needs)) == "the output of `curl x.example`"
    mail = "cat letters/1.eml"
    assert named(command(mail, needs), CONFINED) == f"the output of `{mail}`"


@pytest.mark.parametrize(
    "path",
    [
        "/home/user/Downloads/a.txt",
        "/data/project/node_modules/a/README.md",
        "/data/project/.venv/lib/python3.12/site-packages/a.py",
        "/home/user/Mail/inbox/1",
        "/data/project/letters/1.eml",
    ],
)
def test_reading_what_others_wrote_has_a_name_and_writing_there_has_none(path: str) -> None:
    assert named(FileAccess(operation="read", path=path)) == f"the file {path}"
    assert named(FileAccess(operation="write", path=path)) == ""


def test_the_workspace_is_the_users_own_wherever_it_is() -> None:
    inside = replace(OPEN, workspace="/data/node_modules/mine")
    assert named(FileAccess(operation="read", path="/data/node_modules/mine/a.txt"), inside) == ""
    for name in ("a.txt", "app/Mail/Invoice.php", "msg/Point.msg", "vendor/a.py"):
        assert named(FileAccess(operation="read", path=f"/data/project/{name}")) == ""


def test_who_is_strict_takes_no_file_for_their_own() -> None:
    strict = replace(OPEN, strict=True)
    assert named(FileAccess(operation="read", path="/data/project/a.txt"), strict) == (
        "the file /data/project/a.txt"
    )
    assert named(command("cat a.txt"), strict) == "the output of `cat a.txt`"


def test_a_tool_that_acts_through_others_has_no_name_of_its_own() -> None:
    assert named(ToolUse(tool="t", source="s", manifest=ToolManifest())) == ""


@pytest.mark.parametrize(
    ("entry", "outside"),
    [
        ({}, True),
        ({"outside": False}, False),
        ({"manifest": ToolManifest(effects=())}, False),
        ({"manifest": ToolManifest(effects=("files",))}, False),
        ({"manifest": ToolManifest(effects=("network",))}, True),
        ({"manifest": ToolManifest(effects=(), hosts=("x.example",))}, True),
        ({"manifest": ToolManifest(effects=(), programs=("curl",))}, True),
        ({"manifest": ToolManifest(effects=("network",), workspace=True)}, False),
        ({"manifest": ToolManifest(effects=(), workspace=True), "outside": True}, True),
        ({"toolset": "mcp-x", "manifest": ToolManifest(effects=()), "outside": False}, True),
    ],
)
def test_a_tool_is_from_outside_unless_it_says_that_it_reaches_nothing(
    entry: dict[str, object], outside: bool
) -> None:
    given = {"name": "t", "toolset": "own", "schema": {}, "handler": lambda _: "", **entry}
    assert is_outside(ToolEntry(**given)) is outside  # type: ignore[arg-type]  # rows of a table


LINKS = {"/data/project/l.txt": "/home/user/Downloads/x.txt", "/data/project/dl": "/home/user/Downloads"}


def where(path: str) -> list[str]:
    """Where a path lies, on a machine with some links."""
    if path == "/home/user/Downl*/x.txt":
        return ["/home/user/Downloads/x.txt"]
    link = next((one for one in LINKS if is_within(path, one)), "")
    return [LINKS[link] + path[len(link) :]] if link else [path]


@pytest.mark.parametrize(
    ("line", "foreign"),
    [
        ("cat l.txt", True),
        ("cat < l.txt", True),
        ("cat dl/x.txt", True),
        ("cd dl; cat x.txt", True),
        ("cat ~/Downl*/x.txt", True),
        ("find ~ -name x.txt -exec cat {} +", True),
        ("find . -name x.txt -exec cat {} +", False),
        ("cat notes.txt", False),
        ("cat *.txt", False),
    ],
)
def test_a_file_is_where_its_links_lead(line: str, foreign: bool) -> None:
    action = command(line)
    name = came_from(action, decide(action, OPEN), OPEN, where)
    assert name == (f"the output of `{line}`" if foreign else "")


def test_two_commands_that_begin_alike_are_two_sources() -> None:
    needs, long = Needs(network=True), "echo " + "x" * 100
    first, second = (named(command(f"{long}; curl {host}", needs)) for host in ("a.example", "b.example"))
    assert first != second
    assert [one[:60] == second[:60] for one in (first, second)] == [True, True]


DOWNLOADS = OutsideFolder("/home/user/Downloads", "/data/dl")
AT_HOME = replace(CONFINED, outside_folders=(DOWNLOADS,))


@pytest.mark.parametrize(
    ("line", "named", "foreign"),
    [
        ("python3 -c \"open('/home/user/Downloads/a')\"", True, True),
        ("python3 -c \"open('/data/dl/a')\"", True, True),
        ("python3 - <<X\nPath.home() / 'Downloads'\nX", True, True),
        ('python3 -c \'f"{home}/Downloads"; g(home) + "/Downloads"\'', True, True),
        ("make DIR=$HOME/Downloads", True, True),
        ("make DIR=${HOME}/Downloads/x", True, True),
        ("sh run.sh ../../Downloads", True, True),
        ("cat ~/Downloads/a.txt", True, True),
        ("cat /data/dl/a.txt", True, True),
        ("cd ~ && cat Downloads/a.txt", True, True),
        ("ls ~/Downloads; wc -l notes", True, False),
        ("cp notes.txt ~/Downloads/", True, True),
        ("ls ~/Downloads; make", True, True),
        ("git commit -m 'Show Downloads as a list'", False, False),
        ("git commit -m 'Downloads: a list'", False, False),
        ("python3 app/Downloads/view.py", False, False),
        ("python3 -c \"'DownloadsView'\"", False, False),
        ("python3 program.py", False, False),
        ("grep -r x ~", False, False),
        ("cat /data/dlx/a", False, False),
    ],
)
def test_a_folder_of_others_is_entered_and_counts_where_the_text_of_the_command_names_it(
    line: str, named: bool, foreign: bool
) -> None:
    action = command(line)
    found = provenance(action, decide(action, AT_HOME), AT_HOME)
    assert (found.covered, bool(found.source)) == (() if named else ("/data/dl",), foreign)


def test_a_file_tool_that_reads_where_the_folder_leads_reads_from_outside() -> None:
    read = FileAccess(operation="read", path="/data/dl/a.txt")
    assert named(read, AT_HOME) == "the file /data/dl/a.txt"


def test_a_yes_to_write_there_and_work_there_enter_it() -> None:
    there = replace(command("make"), cwd="/data/dl/project")
    write = command("make", Needs(paths=("/data/dl/out",)))
    assert [provenance(one, decide(one, AT_HOME), AT_HOME).covered for one in (there, write)] == [(), ()]
