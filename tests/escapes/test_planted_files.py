"""What a confined command plants in a repository runs nothing: it is moved aside, with a sentence; what the user makes stays."""

import subprocess
from collections.abc import AsyncIterator
from functools import partial
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
        [".git", "h/config"],
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
    "a nested repository in a nested repository": (
        SPRING + "mkdir -p a/b; git init -q a/b; git -C a/b commit -q --allow-empty -m x; "
        "git -C a/b config core.fsmonitor $PWD/evil; git init -q a; git -C a add b 2>/dev/null; "
        "git -C a commit -qm y; git add a 2>/dev/null",
        ["a/b/.git/config"],
    ),
    "a nested repository of a split index": (
        SPRING + "git init -q sub; git -C sub commit -q --allow-empty -m x; git add sub 2>/dev/null; "
        "git update-index --split-index; git -C sub config core.fsmonitor $PWD/evil",
        ["sub/.git/config"],
    ),
    "the layout of a bare repository instead": (
        SPRING + "git init -q --bare b; git -C b config core.bare false; git -C b config core.worktree $PWD; "
        "git -C b config core.fsmonitor $PWD/evil; mv b/* .; rm .git/HEAD",
        ["config"],
    ),
    "the layout of a bare repository with links": (
        SPRING + "cp .git/HEAD HEAD; ln -s .git/objects objects; cp -r .git/refs .; git init -q b; "
        "git -C b config core.worktree $PWD; git -C b config core.fsmonitor $PWD/evil; mv b/.git/config .; rm .git/HEAD",
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


EXECUTED = "exec touch $PWD/sprung"
STOPPED = (  # a rebase that a conflict stops
    "echo a > f; git add f; git commit -qm a; git switch -qc side; echo b > f; git commit -qam b; git switch -q -; "
    "echo c > f; git commit -qam c; git switch -q side; git rebase -q -s ort @{-1} >/dev/null 2>&1; "
)
RESUMED = {
    "a step of a rebase": (
        STOPPED + f'echo "{EXECUTED}" >> .git/rebase-merge/git-rebase-todo',
        "rebase-merge/git-rebase-todo",
    ),
    "a step of a rebase with a program": (
        STOPPED + 'git rebase --abort; git rebase -q -x "touch $PWD/sprung" @{-1} >/dev/null 2>&1',
        "rebase-merge/git-rebase-todo",
    ),
    "a strategy that is a program": (
        SPRING + STOPPED + "mkdir git-merge-x; echo x/../evil > .git/rebase-merge/strategy; "
        'echo "pick $(git commit-tree -p HEAD -m z HEAD^^{tree})" >> .git/rebase-merge/git-rebase-todo',
        "rebase-merge/strategy",
    ),
    "a remote of the older form": (
        SPRING + "git init -q --bare r.git; cp evil r.git/hooks/post-receive; mkdir -p .git/remotes; "
        'printf "URL: $PWD/r.git\nPush: HEAD:refs/heads/x\n" > .git/remotes/origin',
        "remotes/origin",
    ),
    "a remote of the oldest form": (
        SPRING + "git init -q --bare r.git; cp evil r.git/hooks/post-receive; mkdir -p .git/branches; "
        'echo "$PWD/r.git" > .git/branches/origin',
        "branches/origin",
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


def line(path: str, work: Path) -> str:
    """The line of settings that a sentence names."""
    odd = "worktree" if path == "config" else "fsmonitor"
    at = work if odd == "worktree" else work / "evil"
    return f" ({f'{odd} = {at}'[:80]})" if path.endswith("config") else ""


@pytest.mark.parametrize("planted", PLANTED)
async def test_a_new_repository_runs_nothing_of_what_was_planted_in_it(
    space: LocalWorkspace, environ: dict[str, str], planted: str
) -> None:
    script, taken = PLANTED[planted]
    work = Path(space.cwd)
    done = await space.run(script, timeout=20)
    told = "".join(
        f"[sandbox: {work}/{one} could make git run something{line(one, work)}; it was moved to {work}/{one}.taken"
        f"{', and what is harmless in it kept' if one.endswith('config') else ''}; should the user have made it"
        " meanwhile, they can move it back]\n"
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


def go_on(work: Path, environ: dict[str, str]) -> bool:
    """Whether what a user does with a stopped rebase, or with a remote, runs what was planted."""
    git(work, environ, "checkout", "-q", "--theirs", "f")
    git(work, environ, "add", "f")
    git(work, environ, "-c", "core.editor=true", "rebase", "--continue")
    git(work, environ, "push", "origin", "HEAD:refs/heads/x")
    return (work / "sprung").exists()


@pytest.mark.parametrize("planted", RESUMED)
async def test_what_git_goes_on_with_runs_nothing_of_what_was_planted_in_it(
    space: LocalWorkspace, environ: dict[str, str], planted: str
) -> None:
    script, taken = RESUMED[planted]
    work = Path(space.cwd)
    git(work, environ, "init", "-q")
    git(work, environ, "commit", "-q", "--allow-empty", "-m", "x")
    done = await space.run(script, timeout=20)
    told = f"{work}/.git/{taken} could make git run something"
    assert (told in done.text, go_on(work, environ)) == (True, False), done.text


async def test_a_rebase_that_stopped_in_the_sandbox_goes_on_outside(
    space: LocalWorkspace, environ: dict[str, str]
) -> None:
    work = Path(space.cwd)
    git(work, environ, "init", "-q")
    git(work, environ, "commit", "-q", "--allow-empty", "-m", "x")
    done = await space.run(STOPPED, timeout=20)
    go_on(work, environ)
    left = [one.name for one in (work / ".git").iterdir() if one.name.startswith("rebase")]
    assert (done.text, left, (work / "f").read_text()) == ("", [], "b\n")


async def test_the_steps_that_the_user_chose_stay_in_a_rebase_that_goes_on_in_the_sandbox(
    space: LocalWorkspace, environ: dict[str, str]
) -> None:
    work = Path(space.cwd)
    git(work, environ, "init", "-q")
    git(work, environ, "commit", "-q", "--allow-empty", "-m", "x")
    await space.run(STOPPED, timeout=20)
    steps = work / ".git" / "rebase-merge" / "git-rebase-todo"
    steps.write_text("break\nexec touch made\n")
    done = await space.run(
        "git checkout -q --theirs f; git add f; GIT_EDITOR=true git rebase --continue &>/dev/null", timeout=20
    )
    assert (done.text, steps.read_text()) == ("", "exec touch made\n")


@pytest.mark.parametrize("link", ["../real", "real"])
async def test_a_link_of_the_users_to_a_repository_leads_where_it_led(
    space: LocalWorkspace, environ: dict[str, str], link: str
) -> None:
    work = Path(space.cwd)
    git(work, environ, "init", "-q", "--separate-git-dir", link)
    (work / ".git").unlink()
    (work / ".git").symlink_to(link)
    await space.run(
        SPRING + f"cp -r {link} g; rm .git; ln -s g .git; git config core.fsmonitor $PWD/evil; "
        f"git -C {link} config core.fsmonitor $PWD/evil; mv {link} other; ",
        timeout=20,
    )
    assert ((work / ".git").resolve(), spring(work, environ)) == ((work / link).resolve(), False)


async def test_a_folder_of_the_users_that_a_planted_link_leads_to_stays_as_it_is(
    space: LocalWorkspace, environ: dict[str, str], tmp_path: Path
) -> None:
    other = tmp_path / "other"
    git(tmp_path, environ, "init", "-q", str(other))
    (other / ".git" / "hooks" / "pre-commit").write_text("mine\n")
    git(other, environ, "config", "core.pager", "cat")
    before = sorted(path.name for path in (other / ".git").rglob("*"))
    await space.run(f"git init -q .; ln -s {other} sub; rm -r .git; ln -s {other}/.git .git", timeout=20)
    assert (
        sorted(path.name for path in (other / ".git").rglob("*")),
        sorted(path.name for path in Path(space.cwd).iterdir()),
    ) == (before, [".git.taken", "sub"])


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


async def test_what_one_of_two_commands_planted_is_seen_when_the_other_has_ended_before(
    space: LocalWorkspace,
) -> None:
    work = Path(space.cwd)
    async with anyio.create_task_group() as group:
        group.start_soon(partial(space.run, "touch begun; until [ -e go ]; do sleep 0.01; done", timeout=20))
        while not (work / "begun").exists():  # noqa: ASYNC110  # another program makes it
            await anyio.sleep(0.01)
        group.start_soon(
            partial(
                space.run,
                "until [ -e end ]; do sleep 0.01; done; git init -q .; git config core.pager x",
                timeout=20,
            )
        )
        (work / "go").touch()
        await space.run("touch end", timeout=20)
    assert "pager" not in (work / ".git" / "config").read_text()


async def test_what_a_command_outside_the_sandbox_makes_stays(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    (tmp_path / "work").mkdir()
    sandbox = open_sandbox(
        workspace=tmp_path / "work",
        home=Path(environ["HOME"]),
        hermes_home=tmp_path / ".hermes",
        scratch=tmp_path / "scratch",
        environ=environ,
    )

    async def free(action: Action) -> Permit:
        return Permit.of(action, confined=False)

    space = LocalWorkspace(
        tmp_path / "work", authorize=free, environ=environ, scratch=tmp_path / "scratch", sandbox=sandbox
    )
    done = await space.run("git init -q .; git config core.pager x", timeout=20)
    await space.close()
    assert (done.text, "pager" in (tmp_path / "work" / ".git" / "config").read_text()) == ("", True)


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


async def test_what_would_have_been_planted_in_what_git_goes_on_with_runs(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    """The table can fail."""
    who = {f"GIT_{one}_{two}": "a@b" for one in ("AUTHOR", "COMMITTER") for two in ("NAME", "EMAIL")}
    for number, (script, _) in enumerate(RESUMED.values()):
        work = tmp_path / str(number)
        work.mkdir()
        git(work, environ, "init", "-q")
        git(work, environ, "commit", "-q", "--allow-empty", "-m", "x")
        subprocess.run(["bash", "-c", script], cwd=work, env={**environ, **who}, check=False)
        (work / "sprung").unlink(missing_ok=True)
        assert go_on(work, environ), script


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


async def test_a_start_file_behind_a_link_that_a_command_made_is_taken_away_by_the_link(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    with TemporaryDirectory(prefix="hermes-planted-", dir=outside_tmp()) as folder:
        home = Path(folder).resolve()
        (home / ".config").mkdir()
        (home / ".config" / "mine").write_text("mine\n")
        (home / "other" / "autostart").mkdir(parents=True)
        told = await confined_run(
            home,
            tmp_path / "scratch",
            {**environ, "HOME": str(home)},
            "mv .config .c; mkdir .c/autostart; echo x > .c/autostart/x.desktop; ln -s .c .config; "
            f"ln -s {home}/other .local; mkdir -p other/bin; echo x > other/bin/git",
        )
        there = [name for name in (".config", ".local", "other/bin/git", ".c/mine") if (home / name).exists()]
        moved = [f"{home}/{name}, a link by which it is reached, was moved" for name in (".config", ".local")]
        assert (there, [one in told for one in moved]) == (["other/bin/git", ".c/mine"], [True, True])


async def confined_run(home: Path, scratch: Path, environ: dict[str, str], command: str) -> str:
    """What a confined command prints whose workspace is the home folder."""
    sandbox = open_sandbox(
        workspace=home, home=home, hermes_home=home / ".hermes", scratch=scratch, environ=environ
    )

    async def confined(action: Action) -> Permit:
        return Permit.of(action, confined=True)

    space = LocalWorkspace(home, authorize=confined, environ=environ, scratch=scratch, sandbox=sandbox)
    try:
        return (await space.run(command, timeout=20)).text
    finally:
        await space.close()


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
    await space.start("echo ../g > .git/commondir; touch ready; sleep 60")
    with anyio.fail_after(20):
        while not (work / "ready").exists():  # noqa: ASYNC110  # another program makes it
            await anyio.sleep(0.01)
    done = await space.run("true", timeout=20)
    assert (f"{work}/.git/commondir could make git run something" in done.text) is True
    assert not (work / ".git" / "commondir").exists()
