"""What a yes opens is what was named, and commands that came before choose nothing of what it runs."""

import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from hermes.environments.local_workspace import LocalWorkspace, open_sandbox
from hermes.types.action import Action, Command, Permit
from hermes.types.error import ExecError
from hermes.types.needs import Needs
from tests.escapes.ground import outside_tmp

pytestmark = pytest.mark.anyio


class Field:
    """A workspace in which every command is confined and gets the paths and the network that it declares."""

    def __init__(self, top: Path, environ: dict[str, str]) -> None:
        self.work, self.home, self.out = top / "work", top / "home", top / "out"
        for folder in (self.work, self.home, self.out):
            folder.mkdir()
        environ = {**environ, "HOME": str(self.home)}
        sandbox = open_sandbox(
            workspace=self.work,
            home=self.home,
            hermes_home=self.home / ".hermes",
            scratch=top / "scratch",
            environ=environ,
        )
        self.asked: list[Command] = []
        self.after_yes: Callable[[], None] = lambda: None
        self.space = LocalWorkspace(
            self.work, authorize=self._yes, environ=environ, scratch=top / "scratch", sandbox=sandbox
        )

    async def _yes(self, action: Action) -> Permit:
        assert isinstance(action, Command)
        self.asked.append(action)
        self.after_yes()
        needs = action.needs
        return Permit.of(action, confined=not needs.unconfined, network=needs.network, paths=needs.paths)

    async def run(self, command: str, *paths: Path, network: bool = False) -> str:
        needs = Needs(paths=tuple(map(str, paths)), network=network)
        return (await self.space.run(command, timeout=20, needs=needs)).text


@pytest.fixture
async def field(tmp_path: Path, environ: dict[str, str]) -> AsyncIterator[Field]:
    (tmp_path / "top").mkdir()
    field = Field(tmp_path.resolve() / "top", environ)
    yield field
    await field.space.close()


async def test_a_need_is_decided_for_what_a_link_leads_to(field: Field) -> None:
    (field.out / "link").symlink_to(field.home)
    await field.run("true", field.out / "link")
    assert field.asked[-1].needs.paths == (str(field.home),)


async def test_a_folder_that_became_a_link_after_the_yes_opens_nothing(field: Field) -> None:
    (field.out / "folder").mkdir()

    def exchange() -> None:
        (field.out / "folder").rmdir()
        (field.out / "folder").symlink_to(field.home)

    field.after_yes = exchange
    await field.run(f"touch {field.home}/made {field.out}/folder/made", field.out / "folder")
    assert list(field.home.glob("made")) == []


async def test_the_repository_of_a_folder_that_a_yes_opens_stays_as_it_is(field: Field) -> None:
    subprocess.run(["git", "init", "-q", field.out], check=True)
    before = (field.out / ".git" / "config").read_text()
    said = await field.run(
        f"cd {field.out}; git config core.pager x; echo x > .git/hooks/pre-commit; mv .git g; touch made",
        field.out,
    )
    there = [(field.out / name).exists() for name in (".git/hooks/pre-commit", "g", "made")]
    assert ((field.out / ".git" / "config").read_text(), there) == (before, [False, False, True]), said


async def test_what_is_planted_in_a_folder_that_a_yes_opens_is_moved_aside(field: Field) -> None:
    said = await field.run(f"cd {field.out}; git init -q; git config core.pager x", field.out)
    config = field.out / ".git" / "config"
    assert ("pager" in config.read_text(), f"{config} could make git run something" in said) == (False, True)


async def test_a_start_file_in_a_folder_that_a_yes_opens_is_moved_aside(field: Field) -> None:
    (field.home / ".config").mkdir()
    await field.run(
        "mkdir ~/.config/autostart; echo x > ~/.config/autostart/x.desktop", field.home / ".config"
    )
    assert [path.name for path in (field.home / ".config").iterdir()] == ["autostart.taken"]


STEERED = {
    "PATH": "mkdir bin; printf '#!/bin/sh\\necho steered' > bin/git; chmod +x bin/git; export PATH=$PWD/bin:$PATH",
    "a function": "git() { echo steered; }",
    "an alias": "shopt -s expand_aliases; alias git='echo steered'",
    "a variable": "export GIT_EXTERNAL_DIFF=x GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.who "
    "GIT_CONFIG_VALUE_0='!echo steered'",
}


@pytest.mark.parametrize("way", STEERED)
async def test_commands_before_choose_nothing_of_what_runs_with_more(field: Field, way: str) -> None:
    await field.run(STEERED[way])
    usual = await field.run("git who")
    more = await field.run("git who", network=True)
    paths = await field.run("git who", field.out)
    assert ["steered" in said for said in (usual, more, paths)] == [True, False, False]


async def test_what_commands_have_set_goes_on_after_one_with_more(field: Field) -> None:
    await field.run("export A=1 B=1; f() { echo f; }; cd /usr")
    await field.run("export B=2 C=3; cd /", network=True)
    assert await field.run("echo $A $B $C $PWD; f") == "1 2 3 /\nf\n"


async def test_a_path_that_does_not_count_is_told(field: Field) -> None:
    first = await field.run("true", network=True)
    await field.run("export PATH=$PWD/bin:$PATH")
    second = await field.run("true", network=True)
    assert (first, second.partition(" that ")[0]) == ("", "[the PATH")


@pytest.fixture
async def elsewhere(environ: dict[str, str]) -> AsyncIterator[Field]:
    """Not in /tmp, which the sandbox has for itself."""
    with TemporaryDirectory(prefix="hermes-granted-", dir=outside_tmp()) as folder:
        field = Field(Path(folder).resolve(), environ)
        yield field
        await field.space.close()


async def test_a_folder_that_is_not_there_is_made_for_the_command_that_may_write_in_it(
    elsewhere: Field,
) -> None:
    new = elsewhere.out / "a" / "b"
    said = await elsewhere.run(f"echo x > {new}/made && git init -q {new}", new)
    assert (said, (new / "made").read_text()) == (
        f"[sandbox: {new} was made, for the command to write there]\n",
        "x\n",
    )


async def test_a_folder_is_made_for_nobody_before_the_yes(elsewhere: Field) -> None:
    there: list[bool] = []
    elsewhere.after_yes = lambda: there.append((elsewhere.out / "new").exists())
    await elsewhere.run("true", elsewhere.out / "new")
    assert there == [False]


async def test_a_folder_that_is_to_be_made_behind_a_new_link_is_not(elsewhere: Field) -> None:
    (elsewhere.out / "real").mkdir()

    def exchange() -> None:
        (elsewhere.out / "real").rmdir()
        (elsewhere.out / "real").symlink_to(elsewhere.home)

    elsewhere.after_yes = exchange
    with pytest.raises(ExecError, match="could not be made"):
        await elsewhere.run("true", elsewhere.out / "real" / "new")
    assert not (elsewhere.home / "new").exists()


async def test_what_may_be_a_file_that_is_not_there_is_refused_without_a_question(elsewhere: Field) -> None:
    asked = len(elsewhere.asked)
    with pytest.raises(ExecError) as refused:
        await elsewhere.run("true", elsewhere.out / "a" / "report.txt")
    assert (str(refused.value), len(elsewhere.asked)) == (
        f"{elsewhere.out}/a/report.txt is not there, and might be a file: declare the folder {elsewhere.out}.",
        asked,
    )


async def test_a_branch_that_is_deleted_without_its_settings_is_told(field: Field) -> None:
    subprocess.run(["git", "init", "-q", field.work], check=True)
    for words in (
        ("-c", "user.name=a", "-c", "user.email=a", "commit", "-q", "--allow-empty", "-m", "x"),
        ("branch", "feat"),
        ("config", "branch.feat.description", "x"),
    ):
        subprocess.run(["git", "-C", field.work, *words], check=True)
    said = await field.run("git branch -q -d feat")
    assert said.splitlines()[1:] == [
        "warning: Update of config-file failed",
        "[sandbox: the branch is deleted; only its settings stay in .git/config, read-only here]",
    ]
