"""What a confined command plants in a repository runs nothing: it is moved aside, with a sentence; what the user makes stays."""

import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest

from hermes.environments.local_workspace import LocalWorkspace, open_sandbox
from hermes.environments.sandbox.mounts import Mode
from hermes.environments.sandbox.sandbox import SandboxOptions
from hermes.types.action import Action, Permit
from tests.escapes.ground import outside_tmp

pytestmark = pytest.mark.anyio

SPRING = "printf '#!/bin/sh\\ntouch %s/sprung\\n' $PWD > evil; chmod +x evil; "
PLANTED = {
    "the layout of a bare repository": (
        SPRING + "git init -q --bare b; git -C b config core.bare false; git -C b config core.worktree $PWD; "
        "git -C b config core.fsmonitor $PWD/evil; mv b/* .",
        ["config"],
    ),
    "a new repository with settings": (
        SPRING + "git init -q .; git config core.fsmonitor $PWD/evil",
        [".git/config"],
    ),
    "a new repository with a hook": (
        SPRING + "git init -q .; cp evil .git/hooks/post-index-change; cp evil .git/hooks/pre-commit",
        [".git/hooks/post-index-change", ".git/hooks/pre-commit"],
    ),
    "a file that leads to another folder": (
        SPRING
        + "git init -q g; git -C g config core.fsmonitor $PWD/evil; mv g/.git h; echo gitdir: h > .git",
        [".git"],
    ),
    "a link to another folder": (
        SPRING + "git init -q g; git -C g config core.fsmonitor $PWD/evil; ln -s g/.git .git",
        [".git"],
    ),
}
IN_A_REPOSITORY = {
    "a nested repository that the index has as a submodule": (
        SPRING
        + "git init -q sub; git -C sub commit -q --allow-empty -m x; git -C sub config core.fsmonitor $PWD/evil; "
        "git add sub 2>/dev/null",
        ["sub/.git/config"],
    ),
    "the layout of a bare repository instead": (
        SPRING + "git init -q --bare b; git -C b config core.bare false; git -C b config core.worktree $PWD; "
        "git -C b config core.fsmonitor $PWD/evil; mv b/* .; rm .git/HEAD",
        ["config"],
    ),
    "another common folder": (
        SPRING + "git init -q g; git -C g config core.fsmonitor $PWD/evil; echo ../g/.git > .git/commondir",
        [".git/commondir"],
    ),
    "a new submodule with settings": (
        SPRING + "git init -q sub; git -C sub commit -q --allow-empty -m x; git add sub 2>/dev/null; "
        "git submodule absorbgitdirs -q 2>/dev/null; mkdir -p .git/modules; [ -d .git/modules/sub ] || "
        "{ mv sub/.git .git/modules/sub; echo gitdir: ../.git/modules/sub > sub/.git; }; "
        "git config --file .git/modules/sub/config core.fsmonitor $PWD/evil",
        [".git/modules/sub/config"],
    ),
}


@pytest.fixture
async def space(tmp_path: Path, environ: dict[str, str]) -> AsyncIterator[LocalWorkspace]:
    (tmp_path / "work").mkdir()
    sandbox = open_sandbox(
        workspace=tmp_path / "work",
        home=Path(environ["HOME"]),
        hermes_home=tmp_path / ".hermes",
        scratch=tmp_path / "scratch",
        environ=environ,
    )

    async def confined(action: Action) -> Permit:
        return Permit.of(action, confined=True)

    space = LocalWorkspace(
        tmp_path / "work", authorize=confined, environ=environ, scratch=tmp_path / "scratch", sandbox=sandbox
    )
    await space.run(
        "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a", timeout=20
    )
    yield space
    await space.close()


def git(work: Path, environ: dict[str, str], *words: str) -> str:
    """What a git command of the user's own prints."""
    who = {f"GIT_{one}_{two}": "a@b" for one in ("AUTHOR", "COMMITTER") for two in ("NAME", "EMAIL")}
    done = subprocess.run(
        ["git", *words], cwd=work, env={**environ, **who}, check=False, capture_output=True, text=True
    )
    return done.stdout + done.stderr


def spring(work: Path, environ: dict[str, str]) -> bool:
    """Whether what a user does with git runs what was planted."""
    for words in (["status"], ["add", "-A"], ["commit", "-qm", "x"], ["status"]):
        git(work, environ, *words)
    return (work / "sprung").exists()


@pytest.mark.parametrize("planted", PLANTED)
async def test_a_new_repository_runs_nothing_of_what_was_planted_in_it(
    space: LocalWorkspace, environ: dict[str, str], planted: str
) -> None:
    script, taken = PLANTED[planted]
    work = Path(space.cwd)
    done = await space.run(script, timeout=20)
    told = "".join(
        f"[sandbox: {work}/{one} could make git run something; it was moved to {work}/{one}.taken"
        f"{', and what is harmless in it kept' if one.endswith('config') else ''}]\n"
        for one in taken
    )
    assert ("".join(sorted(done.text.splitlines(keepends=True))), spring(work, environ)) == (told, False)


@pytest.mark.parametrize("planted", IN_A_REPOSITORY)
async def test_a_repository_runs_nothing_of_what_was_planted_in_it(
    space: LocalWorkspace, environ: dict[str, str], planted: str
) -> None:
    script, taken = IN_A_REPOSITORY[planted]
    work = Path(space.cwd)
    git(work, environ, "init", "-q")
    git(work, environ, "commit", "-q", "--allow-empty", "-m", "x")
    done = await space.run(script, timeout=20)
    assert ([one in done.text for one in taken], spring(work, environ)) == ([True] * len(taken), False)


async def test_a_worktree_of_the_users_is_not_led_to_another_folder(
    space: LocalWorkspace, environ: dict[str, str]
) -> None:
    work = Path(space.cwd)
    git(work, environ, "init", "-q")
    git(work, environ, "commit", "-q", "--allow-empty", "-m", "x")
    git(work, environ, "worktree", "add", "-q", "side")
    done = await space.run(
        SPRING + "git init -q g; git -C g config core.fsmonitor $PWD/evil; echo $PWD/g/.git > "
        ".git/worktrees/side/commondir",
        timeout=20,
    )
    git(work / "side", environ, "status")
    assert (".git/worktrees/side/commondir could make git run" in done.text, (work / "sprung").exists()) == (
        True,
        False,
    )


async def test_what_is_planted_would_run_if_it_stayed(tmp_path: Path, environ: dict[str, str]) -> None:
    """The tables can fail."""
    for number, (script, _) in enumerate([*PLANTED.values(), *IN_A_REPOSITORY.values()]):
        work = tmp_path / str(number)
        work.mkdir()
        if number >= len(PLANTED):
            git(work, environ, "init", "-q")
            git(work, environ, "commit", "-q", "--allow-empty", "-m", "x")
        who = {f"GIT_{one}_{two}": "a@b" for one in ("AUTHOR", "COMMITTER") for two in ("NAME", "EMAIL")}
        subprocess.run(["bash", "-c", script], cwd=work, env={**environ, **who}, check=False)
        assert spring(work, environ), script


@pytest.mark.parametrize("part", ["", "/modules/inner"])
async def test_settings_stay_the_users_own_when_a_head_goes_away_for_a_moment(
    space: LocalWorkspace, environ: dict[str, str], part: str
) -> None:
    work = Path(space.cwd)
    git(work, environ, "init", "-q")
    folder = work / f".git{part}"
    if part:
        git(work, environ, "init", "-q", "--bare", str(folder))
    config, hook = folder / "config", folder / "hooks" / "pre-commit"
    config.write_text(config.read_text() + "[alias]\n\tst = status\n")
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    before = config.read_text()
    await space.run(f"mv {folder}/HEAD {folder}/H", timeout=20)
    await space.run(
        f"echo x >> {config}; echo x >> {hook}; mv {folder}/H {folder}/HEAD; echo x >> {config}", timeout=20
    )
    await space.run("true", timeout=20)
    assert (config.read_text(), hook.read_text()) == (before, "#!/bin/sh\n")


async def test_settings_that_write_elsewhere_or_fetch_by_themselves_are_not_plain(
    space: LocalWorkspace, environ: dict[str, str]
) -> None:
    done = await space.run("git init -q .; git config core.worktree /srv; cat .git/config", timeout=20)
    assert "was moved to" in done.text
    await space.run("rm -rf .git; git init -q .; git config remote.o.promisor true", timeout=20)
    assert "promisor" not in (Path(space.cwd) / ".git" / "config").read_text()


async def test_hooks_of_mercurial_are_moved_aside(space: LocalWorkspace) -> None:
    await space.run("mkdir .hg; printf '[hooks]\nupdate = ./evil\n' > .hg/hgrc", timeout=20)
    assert [path.name for path in (Path(space.cwd) / ".hg").iterdir()] == ["hgrc.taken"]


async def test_what_an_interrupted_command_planted_is_gone_at_once(space: LocalWorkspace) -> None:
    work = Path(space.cwd)
    with anyio.move_on_after(20) as scope:
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                while not (work / "ready").exists():  # noqa: ASYNC110  # another program makes it
                    await anyio.sleep(0.01)
                group.cancel_scope.cancel()

            group.start_soon(watch)
            await space.run("git init -q .; git config core.pager x; touch ready; sleep 60", timeout=60)
    assert (scope.cancelled_caught, "pager" in (work / ".git" / "config").read_text()) == (False, False)


async def test_what_a_process_planted_that_has_ended_is_not_taken_for_the_users(
    space: LocalWorkspace,
) -> None:
    work = Path(space.cwd)
    started = await space.start("git init -q .; git config core.pager x; touch ready")
    await space.processes.wait(started.id, 20)
    done = await space.run("true", timeout=20)
    assert (f"{work}/.git/config could make git run something" in done.text) is True


async def test_what_the_user_makes_and_what_git_makes_stays(
    space: LocalWorkspace, environ: dict[str, str]
) -> None:
    work = Path(space.cwd)
    first = await space.run(
        "git init -q . && git commit -q --allow-empty -m x && git branch other", timeout=20
    )
    (work / ".git" / "hooks" / "pre-commit").write_text("#!/bin/sh\n")
    git(work, environ, "config", "core.pager", "cat")
    git(work, environ, "config", "alias.st", "status")
    second = await space.run("git worktree add -q side other && git -C side st --short", timeout=20)
    kept = [
        name for name in ("hooks/pre-commit", "worktrees/side/commondir") if (work / ".git" / name).exists()
    ]
    assert (first.text, second.text, kept) == ("", "", ["hooks/pre-commit", "worktrees/side/commondir"])


@pytest.mark.parametrize("mode", ["workspace", "full"])
async def test_no_command_makes_a_file_that_a_login_or_a_shell_would_run(
    tmp_path: Path, environ: dict[str, str], mode: Mode
) -> None:
    """Where the home folder is the workspace, or all is writable."""
    with TemporaryDirectory(prefix="hermes-planted-", dir=outside_tmp()) as folder:
        home = Path(folder).resolve()
        (home / ".profile").write_text("mine\n")
        sandbox = open_sandbox(
            workspace=home if mode == "workspace" else tmp_path,
            home=home,
            hermes_home=home / ".hermes",
            scratch=tmp_path / "scratch",
            environ=environ,
            sandboxing=SandboxOptions(mode=mode),
        )

        async def confined(action: Action) -> Permit:
            return Permit.of(action, confined=True)

        space = LocalWorkspace(
            home if mode == "workspace" else tmp_path,
            authorize=confined,
            environ={**environ, "HOME": str(home)},
            scratch=tmp_path / "scratch",
            sandbox=sandbox,
        )
        await space.run(
            "cd ~; mkdir .ssh .bash_profile.taken; echo key > .ssh/authorized_keys; echo x > .bash_profile; "
            "echo x >> .profile; mkdir -p .config/autostart; echo x > .config/autostart/x.desktop; echo fine > notes",
            timeout=20,
        )
        await space.close()
        names = (".ssh", ".bash_profile", ".config/autostart", ".ssh.taken", "notes", ".profile")
        there = [name for name in names if (home / name).exists()]
        assert (there, (home / ".profile").read_text()) == ([".ssh.taken", "notes", ".profile"], "mine\n")


async def test_a_hook_that_the_user_makes_stays_while_a_process_runs_in_the_background(
    space: LocalWorkspace, environ: dict[str, str]
) -> None:
    work = Path(space.cwd)
    git(work, environ, "init", "-q")
    await space.start("sleep 60")
    (work / ".git" / "hooks" / "pre-commit").write_text("#!/bin/sh\n")
    done = await space.run("true", timeout=20)
    assert (done.text, (work / ".git" / "hooks" / "pre-commit").exists()) == ("", True)


async def test_a_process_in_the_background_plants_nothing_that_a_later_look_takes_for_the_users(
    space: LocalWorkspace, environ: dict[str, str]
) -> None:
    work = Path(space.cwd)
    git(work, environ, "init", "-q")
    await space.start("echo ../g > .git/commondir; sleep 60")
    with anyio.fail_after(20):
        while not (work / ".git" / "commondir").exists():  # noqa: ASYNC110  # another program makes it
            await anyio.sleep(0.01)
    done = await space.run("true", timeout=20)
    assert (f"{work}/.git/commondir could make git run something" in done.text) is True
    assert not (work / ".git" / "commondir").exists()
