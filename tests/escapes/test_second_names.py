"""What runs later is not changed by another name of its file, and a link to it is not exchanged."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from hermes.environments.local_workspace import LocalWorkspace, open_sandbox
from hermes.environments.sandbox.planted import Watched
from hermes.types.action import Action, Permit

pytestmark = pytest.mark.anyio

SPRING = "printf '[core]\\n\\tfsmonitor = \"touch sprung; false\"\\n' >> second"
NEW = {
    "a new repository": "git init -q .; ln .git/config second",
    "a new nested repository that the index has": "git init -q .; git init -q sub; "
    "git -C sub -c user.name=a -c user.email=a commit -q --allow-empty -m x; git add sub 2>/dev/null; "
    "ln sub/.git/config second",
}


class Later:
    """A workspace whose commands are confined, each in a session of its own."""

    def __init__(self, top: Path, environ: dict[str, str]) -> None:
        self.work = top / "work"
        self.work.mkdir()
        self.home = Path(environ["HOME"])
        self._top, self._environ = top, environ
        self.protected = False

    async def run(self, *commands: str, between: Callable[[], None] = lambda: None) -> str:
        """What the commands print, one after the other."""
        sandbox = open_sandbox(
            workspace=self.work,
            home=self.home,
            hermes_home=self._top / ".hermes",
            scratch=self._top / "scratch",
            environ={**self._environ, "HOME": str(self.home)},
        )

        async def decided(action: Action) -> Permit:
            words = getattr(action, "command", "")
            return Permit.of(action, confined=not words.startswith("OUTSIDE"), protected=self.protected)

        space = LocalWorkspace(
            self.work,
            authorize=decided,
            environ=self._environ,
            scratch=self._top / "scratch",
            sandbox=sandbox,
        )
        try:
            said = []
            for command in commands:
                if command.startswith("& "):
                    await space.start(command[2:])
                    with anyio.fail_after(20):
                        while not (self.work / "ready").exists():  # noqa: ASYNC110  # another program makes it
                            await anyio.sleep(0.01)
                else:
                    said.append((await space.run(command, timeout=20)).text)
                between()
            return "".join(said)
        finally:
            await space.close()


@pytest.fixture
def later(tmp_path: Path, environ: dict[str, str]) -> Later:
    (tmp_path / "top").mkdir()
    return Later(tmp_path.resolve() / "top", environ)


def git(later: Later, *words: str) -> str:
    """What a git command of the user's own prints."""
    done = subprocess.run(["git", *words], cwd=later.work, check=False, capture_output=True, text=True)
    return done.stdout


@pytest.mark.parametrize("made", NEW)
async def test_settings_are_not_changed_by_a_second_name(later: Later, made: str) -> None:
    await later.run(NEW[made], SPRING)
    git(later, "status")
    assert ((later.work / "second").read_text().count("fsmonitor"), [*later.work.rglob("sprung")]) == (1, [])


async def test_a_second_name_that_the_user_made_changes_no_settings_and_no_hook(later: Later) -> None:
    git(later, "init", "-q")
    (later.work / ".git" / "hooks" / "pre-commit").write_text("#!/bin/sh\n")
    os.link(later.work / ".git" / "config", later.work / "second")
    os.link(later.work / ".git" / "hooks" / "pre-commit", later.work / "hook")
    before = (later.work / ".git" / "config").read_text()
    await later.run(f"{SPRING}; echo evil >> hook")
    hook = (later.work / ".git" / "hooks" / "pre-commit").read_text()
    assert ((later.work / ".git" / "config").read_text(), hook) == (before, "#!/bin/sh\n")


async def test_settings_that_changed_while_a_command_ran_are_put_back_where_they_would_run_something(
    later: Later,
) -> None:
    git(later, "init", "-q")
    git(later, "config", "alias.st", "status")
    watched = Watched(tops=(str(later.work),))
    before = watched.secured()
    git(later, "config", "core.fsmonitor", "./evil")
    config = later.work / ".git" / "config"
    told = watched.take_planted(before)
    assert (config.read_text(), [one.partition(";")[0] for one in told]) == (
        before[str(config)].text,
        [f"{config} could make git run something (fsmonitor = ./evil)"],
    )


async def test_settings_of_the_users_stay_when_harmless_ones_come_in_meanwhile(later: Later) -> None:
    git(later, "init", "-q")
    git(later, "config", "alias.st", "status")
    watched = Watched(tops=(str(later.work),))
    before = watched.secured()
    git(later, "remote", "add", "origin", "https://example.org/x")
    assert (watched.take_planted(before), git(later, "config", "alias.st"), git(later, "remote")) == (
        [],
        "status\n",
        "origin\n",
    )


async def test_a_process_that_waits_for_the_user_to_change_settings_adds_none(later: Later) -> None:
    """Git puts a new file in the place of the one that is covered."""
    git(later, "init", "-q")
    git(later, "config", "alias.st", "status")
    before = (later.work / ".git" / "config").read_text()
    said = await later.run(
        "& touch ready; until [ -e go ]; do sleep 0.01; done; "
        "printf '[core]\\n\\tfsmonitor = x\\n' >> .git/config; touch done; sleep 60",
        "OUTSIDE=1; git config user.name me; touch go; until [ -e done ]; do sleep 0.01; done",
        "true",
    )
    assert ((later.work / ".git" / "config").read_text(), "(fsmonitor = x)" in said) == (before, True)


async def test_harmless_settings_that_a_command_outside_makes_stay_while_a_confined_one_runs(
    later: Later,
) -> None:
    git(later, "init", "-q")
    await later.run("& touch ready; sleep 60", "OUTSIDE=1; git remote add origin /srv/x", "true")
    assert git(later, "remote") == "origin\n"


async def test_instructions_are_not_changed_by_a_second_name(later: Later) -> None:
    (later.work / ".claude").mkdir()
    for name in ("AGENTS.md", ".claude/settings.json"):
        (later.work / name).write_text("mine\n")
    await later.run("ln AGENTS.md one; ln .claude/settings.json two")
    later.protected = True
    await later.run("echo evil >> one; echo evil >> two")
    assert [(later.work / name).read_text() for name in ("AGENTS.md", ".claude/settings.json")] == [
        "mine\n",
        "mine\n",
    ]


async def test_two_names_that_are_both_instructions_stay_one_file(later: Later) -> None:
    (later.work / "AGENTS.md").write_text("mine\n")
    (later.work / "CLAUDE.md").hardlink_to(later.work / "AGENTS.md")
    later.protected = True
    await later.run("true")
    assert (later.work / "CLAUDE.md").samefile(later.work / "AGENTS.md")


LINKED = {
    "to a file": ("AGENTS.md", "CLAUDE.md", "rm CLAUDE.md; echo evil > CLAUDE.md"),
    "to nothing": ("nowhere", "CLAUDE.md", "rm CLAUDE.md; echo evil > CLAUDE.md; echo evil > nowhere"),
    "to a folder": ("rules", ".cursor", "rm .cursor; mkdir .cursor; echo evil > .cursor/mcp.json"),
    "with what is in it": ("hub", ".github", "rm .github; mkdir -p .github/workflows"),
    "deeper": ("../AGENTS.md", "sub/CLAUDE.md", "rm sub/CLAUDE.md; echo evil > sub/CLAUDE.md"),
}


@pytest.mark.parametrize("link", LINKED)
async def test_a_link_to_instructions_is_put_back(later: Later, link: str) -> None:
    leads, name, script = LINKED[link]
    for folder in ("rules", "hub/workflows", "sub"):
        (later.work / folder).mkdir(parents=True)
    (later.work / "AGENTS.md").write_text("mine\n")
    (later.work / name).symlink_to(leads)
    later.protected = True
    said = await later.run(script)
    told = f"agents would take {later.work / name} as instructions"
    assert ((later.work / name).readlink(), (later.work / "nowhere").exists()) == (Path(leads), False)
    assert told in said


async def test_a_start_file_that_is_a_link_is_put_back(later: Later) -> None:
    later.home = later.work
    for folder in ("dots/config", "dots/local"):
        (later.work / folder).mkdir(parents=True)
    (later.work / "dots" / "bashrc").write_text("mine\n")
    links = {".bashrc": "dots/bashrc", ".config": "dots/config", ".local": "dots/local"}
    for name, leads in links.items():
        (later.work / name).symlink_to(leads)
    said = await later.run(
        "rm .bashrc .config .local; echo evil > .bashrc; mkdir -p .config/autostart .local other/bin; "
        "echo evil > .config/autostart/e.desktop; echo evil > other/bin/git; rmdir .local; ln -s other .local"
    )
    left = {name: str((later.work / name).readlink()) for name in links}
    told = [f"{later.work / name} would run something by itself" in said for name in links]
    assert (left, (later.work / ".bashrc").read_text(), told) == (links, "mine\n", [True] * 3)


async def test_a_command_outside_does_not_make_good_what_another_one_plants_meanwhile(later: Later) -> None:
    later.home = later.work
    (later.work / "rc").write_text("mine\n")
    (later.work / ".bashrc").symlink_to("rc")
    await later.run(
        "& touch ready; until [ -e go ]; do sleep 0.01; done; rm .bashrc; echo evil > .bashrc; touch done; sleep 60",
        "OUTSIDE=1; touch go; until [ -e done ]; do sleep 0.01; done",
        "true",
    )
    assert (later.work / ".bashrc").read_text() == "mine\n"
