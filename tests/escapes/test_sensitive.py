"""One table of sensitive things, and all who use it: the sandbox, the decisions, the commands' variables, redaction."""

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from hermes.config.sensitive import at_home, of_machine, sensitive
from hermes.environments.child_env import child_environment
from hermes.environments.local_workspace import LocalWorkspace, open_sandbox
from hermes.environments.sandbox.mounts import Mode
from hermes.environments.sandbox.sandbox import SandboxOptions
from hermes.lib.secretnames import is_secret_name
from hermes.safety.commands.findings import inspect
from hermes.safety.decide import Policy, Verdict, decide
from hermes.safety.redact import redact
from hermes.types.action import Action, FileAccess, Permit
from tests.escapes.ground import outside_tmp

CANARY = "canary-4711-value"
TABLE = sensitive()
SECRETS = sorted(name.replace("*", "some") for name in at_home(TABLE.secrets))
STARTS = sorted(
    name.replace("*", "some") for name in at_home(TABLE.starts) if name not in at_home(TABLE.secrets)
)
VARIABLES = sorted(name for names in TABLE.variables.values() for name in names)
HOME = "/home/user"
POLICY = Policy(workspace="/data/project", home=HOME, hermes_home=f"{HOME}/.hermes", sandbox="workspace")


@pytest.fixture
def home() -> Iterator[Path]:
    """Not in /tmp: the sandbox has its own."""
    with TemporaryDirectory(prefix="hermes-sensitive-", dir=outside_tmp()) as folder:
        yield Path(folder)


@pytest.fixture
def confined(tmp_path: Path, environ: dict[str, str], home: Path) -> Callable[[Mode], LocalWorkspace]:
    (tmp_path / "work").mkdir()
    environ = {**environ, "HOME": str(home)}

    async def confined(action: Action) -> Permit:
        return Permit.of(action, confined=True)

    def opened(mode: Mode) -> LocalWorkspace:
        sandbox = open_sandbox(
            workspace=tmp_path / "work",
            home=home,
            hermes_home=home / ".hermes",
            scratch=tmp_path / "scratch",
            environ=environ,
            sandboxing=SandboxOptions(mode=mode),
        )
        return LocalWorkspace(
            tmp_path / "work",
            authorize=confined,
            environ=environ,
            scratch=tmp_path / "scratch",
            sandbox=sandbox,
        )

    return opened


def lay(home: Path, names: list[str]) -> None:
    """A canary in a folder of each name; what is a file is as well a folder for this."""
    for name in names:
        (home / name).mkdir(parents=True, exist_ok=True)
        (home / name / "canary").write_text(CANARY)


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["read-only", "workspace", "full"])
async def test_no_command_in_the_sandbox_reads_a_secret_of_the_table(
    confined: Callable[[Mode], LocalWorkspace], home: Path, mode: Mode
) -> None:
    lay(home, SECRETS)
    space = confined(mode)
    done = await space.run("find $HOME -name canary -type f | sort; grep -ra canary- $HOME", timeout=60)
    await space.close()
    assert (len(SECRETS) > 150, done.text) == (True, "")


@pytest.mark.anyio
async def test_no_command_in_the_sandbox_changes_a_start_file_of_the_table(
    confined: Callable[[Mode], LocalWorkspace], home: Path
) -> None:
    lay(home, STARTS)
    space = confined("full")
    await space.run(
        "find $HOME -name canary | while read f; do echo x >> $f; rm -f $f; mv ${f%/*} ${f%/*}2; done",
        timeout=60,
    )
    await space.close()
    assert [name for name in STARTS if (home / name / "canary").read_text() != CANARY] == []


def file(operation: str, path: str) -> Verdict:
    return decide(FileAccess(operation=operation, path=path), POLICY)  # type: ignore[arg-type]


@pytest.mark.parametrize("home", [HOME, "/home/another", "/root", "/Users/me"])
def test_every_secret_is_one_to_the_file_tools_and_to_the_reading_of_commands(home: str) -> None:
    wrong = [
        path
        for name in SECRETS
        for path in (f"{home}/{name}", f"{home}/{name}/below")
        for found in [inspect(f"cat '{path}'", cwd=POLICY.workspace, folders=POLICY.folders)]
        if (file("read", path).effects, file("write", path).decision) != (("secret",), "deny")
        or "secret" not in {one.effect for one in found}
    ]
    assert wrong == []


def test_every_secret_of_the_machine_is_one_to_the_file_tools() -> None:
    paths = [name.replace("*", "some") for name in of_machine(TABLE.secrets)]
    assert [path for path in paths if file("read", path).effects != ("secret",)] == []


def test_every_start_file_is_asked_for_by_file_tools_and_found_in_commands() -> None:
    wrong = [
        path
        for name in STARTS
        for path in (f"{HOME}/{name}", f"{HOME}/{name}/below")
        for found in [inspect(f"echo x >> '{path}'", cwd=POLICY.workspace, folders=POLICY.folders)]
        if file("write", path).decision != "ask" or "start-file" not in {one.rule for one in found}
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "name", [".vscode/tasks.json", ".husky/pre-commit", ".devcontainer/devcontainer.json"]
)
def test_what_an_editor_runs_by_itself_asks_before_a_file_tool_writes_it(name: str) -> None:
    assert file("write", f"/data/project/{name}").decision == "ask"


def test_no_name_of_a_project_is_taken_for_a_secret_of_the_user() -> None:
    names = (
        ".circleci/config.yml",
        ".config/x",
        "bin/run",
        ".vscode/settings.json",
        "Documents/x.kdb",
        "go/bin/x",
    )
    assert [name for name in names if file("write", f"/data/project/{name}").decision != "allow"] == []


@pytest.mark.parametrize("name", VARIABLES)
def test_every_variable_with_a_secret_stays_out_of_commands_and_is_hidden_in_text(name: str) -> None:
    value = "aB3xfoo9Qz11kk"
    assert is_secret_name(name)
    assert child_environment({name: value}).given == {}
    assert value not in redact(f"{name}={value}")
    assert value not in redact(f'  "{name}": "{value}",')


@pytest.mark.parametrize("name", [one.replace("*", "X") for one in TABLE.withheld])
def test_every_variable_that_loads_something_is_withheld_and_found_when_it_is_set(name: str) -> None:
    found = inspect(f"{name}=./x ls", cwd=POLICY.workspace, folders=POLICY.folders)
    assert child_environment({name: "x"}).given == {}
    assert "loader" in {one.effect for one in found}
