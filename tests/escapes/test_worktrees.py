"""In a worktree for sessions a confined command commits to its own branch; nothing that it leaves there runs or
writes anything when we look at it, take its commits over and remove it.
"""

import shutil
import subprocess
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hermes.environments.local_workspace import LocalWorkspace, open_sandbox
from hermes.environments.worktree_records import Worktree
from hermes.environments.worktrees import Worktrees, WorktreeState
from hermes.types.action import Action, Permit
from hermes.types.error import HermesError

from .test_planted_files import SPRING, git

pytestmark = pytest.mark.anyio
NAMED = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a"
EMPTY = WorktreeState()


@asynccontextmanager
async def confined(folder: Path, environ: dict[str, str]) -> AsyncIterator[LocalWorkspace]:
    home = Path(environ["HOME"])
    scratch = home / f"scratch-{folder.name}"
    sandbox = open_sandbox(
        workspace=folder, home=home, hermes_home=home / ".hermes", scratch=scratch, environ=environ
    )

    async def allowed(action: Action) -> Permit:
        return Permit.of(action, confined=True)

    space = LocalWorkspace(folder, authorize=allowed, environ=environ, scratch=scratch, sandbox=sandbox)
    await space.run(NAMED, timeout=20)
    yield space
    await space.close()


@pytest.fixture
def repository(tmp_path: Path, environ: dict[str, str]) -> Path:
    work = tmp_path / "repo"
    work.mkdir()
    (work / "a.txt").write_text("one\n")
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "one"]):
        git(work, environ, *words)
    return work


def of(folder: Path, environ: dict[str, str]) -> Worktrees:
    return Worktrees(folder, environ, Path(environ["HERMES_HOME"]))


def made(repository: Path, environ: dict[str, str], name: str = "x") -> Worktree:
    return of(repository, environ).make(name)


def state(repository: Path, environ: dict[str, str], tree: Worktree) -> WorktreeState:
    return of(repository, environ).take_over(tree)


def left_by(tree: Worktree, environ: dict[str, str], command: str) -> str:
    """What a session left in its worktree, by whatever means."""
    words = ["bash", "-c", f"{NAMED}; {command}"]
    done = subprocess.run(words, cwd=tree.path, env=environ, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def whole(repository: Path) -> dict[str, bytes]:
    """All that is in a repository."""
    return {
        str(path.relative_to(repository)): path.read_bytes()
        for path in repository.rglob("*")
        if path.is_file()
    }


async def test_two_at_once_commit_amend_rebase_and_reset_each_on_its_own_branch(
    repository: Path, environ: dict[str, str]
) -> None:
    for name in ("x", "y"):
        tree = made(repository, environ, name)
        async with confined(tree.path, environ) as space:
            done = await space.run(
                f"echo {name} > {name}.txt && git add -A && git commit -qm a && git commit -q --amend -m {name}"
                " && git commit -q --allow-empty -m more && git reset -q --hard HEAD~1"
                " && git rebase -q --force-rebase HEAD~1 2>/dev/null; git status --short; git log --format=%s",
                timeout=20,
            )
            assert (done.text, done.code) == (f"{name}\none\n", 0)
        assert state(repository, environ, tree) == WorktreeState(commits=1, strays=2)
    logs = [git(repository, environ, "log", "--format=%s", one) for one in ("main", "hermes/x", "hermes/y")]
    assert logs == ["one\n", "x\none\n", "y\none\n"]
    assert git(repository, environ, "fsck", "--strict") == ""


REACHING = {
    "the branch that is checked out": "echo $(git rev-parse HEAD) > {main}/.git/refs/heads/main",
    "its own branch there": "mkdir -p {main}/.git/refs/heads/hermes; git rev-parse HEAD > {main}/.git/refs/heads/hermes/x",
    "the settings": "git --git-dir={main}/.git config core.fsmonitor $PWD/evil",
    "a hook": "cp evil {main}/.git/hooks/post-checkout",
    "what is staged": "git --git-dir={main}/.git --work-tree={main} add -A",
    "the head": "echo ref: refs/heads/hermes/x > {main}/.git/HEAD",
    "a log": "mkdir -p {main}/.git/logs/refs/heads/hermes; ln -s /etc/x {main}/.git/logs/refs/heads/hermes/next",
    "a file": "echo two > {main}/a.txt",
    "objects": "rm -rf {main}/.git/objects/??; chmod -R u+w {main}/.git/objects; echo x > {main}/.git/objects/$(cd {main}/.git/objects; ls ??/* | head -1)",
    "other objects": "echo $PWD > {main}/.git/objects/info/alternates",
    "a link to objects": "ln {main}/.git/objects/??/* . ; chmod u+w *; for f in *; do echo x > $f; done",
    "history, by git": "git gc -q --prune=now; git prune --expire=now; git repack -adq; git reflog expire --expire=now --all",
    "what is known of it": "rm -rf {home}; mkdir -p {home}/worktrees; echo x > {home}/worktrees/x.json",
}


@pytest.mark.parametrize("what", REACHING)
async def test_a_command_in_a_worktree_does_not_change(
    repository: Path, environ: dict[str, str], what: str
) -> None:
    git(
        repository,
        environ,
        "stash",
        "store",
        "-m",
        "x",
        git(repository, environ, "rev-parse", "HEAD").strip(),
    )
    git(repository, environ, "stash", "drop", "-q")
    tree = made(repository, environ)
    known = whole(Path(environ["HERMES_HOME"], "worktrees"))
    before = whole(repository)
    async with confined(tree.path, environ) as space:
        wanted = REACHING[what].format(main=repository, home=environ["HERMES_HOME"])
        await space.run(SPRING + wanted, timeout=20)
    assert (whole(repository), whole(Path(environ["HERMES_HOME"], "worktrees"))) == (before, known)
    git(tree.path, environ, "status")
    assert not (tree.path / "sprung").exists()
    assert state(repository, environ, tree).files  # what it may: the file of its own


async def test_objects_of_the_repository_are_read_in_the_sandbox_and_nothing_else_that_a_worktree_names(
    repository: Path, environ: dict[str, str]
) -> None:
    secret = Path(environ["HOME"], ".ssh")
    secret.mkdir()
    (secret / "id").write_text("secret")
    tree = made(repository, environ)
    (tree.path / ".git/objects/info/alternates").write_text(f"{repository}/.git/objects\n{secret}\n")
    async with confined(tree.path, environ) as space:
        done = await space.run(f"git show HEAD:a.txt; cat {secret}/id", timeout=20)
    assert [one in done.text.splitlines() for one in ("one", "secret")] == [True, False]


async def test_a_folder_that_only_says_it_is_a_worktree_gains_nothing(
    repository: Path, environ: dict[str, str]
) -> None:
    real = made(repository, environ)
    forged = real.path.parent / "forged"
    shutil.copytree(real.path, forged)
    before = whole(repository)
    left_by(real, environ, "cd ../forged && git commit -q --allow-empty -m forged")
    with pytest.raises(HermesError, match="was not made by hermes -w"):
        of(repository, environ).named("forged")
    assert (whole(repository), [one.name for one in of(repository, environ).all()]) == (before, ["x"])


NESTED = (
    "mkdir -p {0} && cd {0} && git init -q && echo '* filter=evil' > .gitattributes && echo 1 > x && git add . && git commit -qm s"
    ' && printf \'[filter "evil"]\\n\\tclean = "touch $SPRUNG; cat"\\n\' >> .git/config && cd $OLDPWD'
)
PROGRAMS = {
    "a submodule": NESTED.format("sub") + "; git add sub; git commit -qm sub; echo 22 > sub/x",
    "a submodule of a submodule": NESTED.format("o/sub")
    + "; git -C o init -q; git -C o add sub; git -C o commit -qm o; git add o; git commit -qm o; echo 22 > o/sub/x",
    "one that a file leads to": NESTED.format("sub")
    + "; mv sub/.git gd; echo 'gitdir: ../gd' > sub/.git; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub;"
    " git commit -qm sub; echo 22 > sub/x",
    "a filter": "echo '* filter=evil' > .gitattributes; git add -A; git commit -qm f; git config filter.evil.clean 'touch $SPRUNG; cat'; touch a.txt",
    "a monitor": "git config core.fsmonitor 'touch $SPRUNG; false'; echo 2 > a.txt",
    "a hook": "mkdir .git/hooks; printf '#!/bin/sh\\ntouch $SPRUNG' > .git/hooks/reference-transaction; chmod +x .git/hooks/*; git commit -q --allow-empty -m e",
    "settings of the folder": "git config core.worktree ..; git config extensions.worktreeConfig true; git config core.hooksPath /x; git config --worktree core.fsmonitor 'touch $SPRUNG'; echo 2 > n",
    "a remote that is asked for what is missing": "git config extensions.partialClone evil; git config remote.evil.promisor true;"
    " git config remote.evil.url 'ext::touch $SPRUNG'; git config protocol.ext.allow always; git commit -q --allow-empty -m e; rm -f .git/objects/??/*; echo 1 > n",
    "another common folder": NESTED.format("g") + "; echo $PWD/g/.git > .git/commondir; echo 2 > a.txt",
}


@pytest.mark.parametrize("what", PROGRAMS)
def test_what_a_session_left_runs_nothing_when_we_look_and_counts(
    repository: Path, environ: dict[str, str], what: str
) -> None:
    sprung = repository.parent / "sprung"
    tree = made(repository, environ)
    left_by(tree, environ, PROGRAMS[what].replace("$SPRUNG", str(sprung)))
    sprung.unlink(missing_ok=True)
    try:
        is_empty = state(repository, environ, tree).is_empty
    except HermesError:
        is_empty = False  # it cannot be told, and stays
    of(repository, environ).remove(tree)
    assert (is_empty, sprung.exists(), git(repository, environ, "fsck", "--strict", "--no-dangling")) == (
        False, False, "",
    )  # fmt: skip


KEPT = {
    "a change that the index hides": ("git update-index --assume-unchanged a.txt && echo 2 > a.txt", WorktreeState(files=1)),
    "one that it skips": ("git update-index --skip-worktree a.txt && echo 2 > a.txt", WorktreeState(files=1)),
    "a commit that was reset": ("git commit -q --allow-empty -m w; git reset -q --hard HEAD~1", WorktreeState(strays=1)),
    "one on no branch": ("git checkout -q --detach; git commit -q --allow-empty -m w; git checkout -q hermes/x", WorktreeState(strays=1)),
    "a stash": ("echo 2 > a.txt; git stash -q", WorktreeState(strays=2)),
    "another branch": ("git switch -qc other; git commit -q --allow-empty -m w; git switch -q hermes/x", WorktreeState(branches=("other",))),
    "another name of its branch": ("git commit -q --allow-empty -m w; git branch -qm other", WorktreeState(branches=("other",))),
    "a repository in it": ("git init -q sub; echo p > sub/x", WorktreeState(files=1)),
    "files that settings hide": ("git config status.showUntrackedFiles no; mkdir -p .git/info; echo '*' > .git/info/exclude; echo p > n", WorktreeState(files=1)),
    "an index of its own": ("git rm -q --cached a.txt; echo 2 > a.txt", WorktreeState(files=1)),
    "a sparse checkout": ("git sparse-checkout set --no-cone /g; echo 2 > a.txt", WorktreeState(files=1)),
    "a commit, not what it was written anew from": ("git commit -q --allow-empty -m w; GIT_COMMITTER_DATE=@1+0000 git commit -q --amend --no-edit --allow-empty", WorktreeState(commits=1)),
}  # fmt: skip


@pytest.mark.parametrize("what", KEPT)
def test_what_is_lost_with_a_worktree_is_counted(
    repository: Path, environ: dict[str, str], what: str
) -> None:
    command, expected = KEPT[what]
    tree = made(repository, environ)
    assert state(repository, environ, tree) == EMPTY
    left_by(tree, environ, command)
    assert state(repository, environ, tree) == expected


FORGED = {
    "an object with another content": "f=$(ls -d .git/objects/??/* | head -1); chmod u+w $f; cp $OTHER $f",
    "an object that is damaged": "f=$(ls -d .git/objects/??/* | head -1); chmod u+w $f; echo x > $f",
    "objects that are not there": "find .git/objects -type f -path '*/??/*' | head -1 | xargs rm -f",
    "objects that are links": "f=$(ls -d .git/objects/??/* | head -1); mv $f kept; ln -s $PWD/kept $f",
    "an object that is a pipe": "f=$(ls -d .git/objects/??/* | head -1); rm -f $f; mkfifo $f",
    "a folder of objects that is a link": "mv .git/objects elsewhere; ln -s $PWD/elsewhere .git/objects",
    "a branch that is a link": "f=.git/refs/heads/hermes/x; mv $f kept; ln -s $PWD/kept $f",
    "a branch that is a pipe": "f=.git/refs/heads/hermes/x; rm $f; mkfifo $f",
    "a branch that follows another": "echo 'ref: refs/heads/other' > .git/refs/heads/hermes/x; git branch other",
    "a git folder that is a link": "mv .git elsewhere; ln -s $PWD/elsewhere .git",
    "a git folder elsewhere": "mv .git elsewhere; echo gitdir: elsewhere > .git",
    "no git folder": "rm -rf .git",
}


@pytest.mark.parametrize("what", FORGED)
def test_what_is_damaged_or_led_elsewhere_is_not_taken_over_and_stays(
    repository: Path, environ: dict[str, str], what: str
) -> None:
    (repository / "other").write_bytes(zlib.compress(b"blob 5\0EVIL\n"))
    tree = made(repository, environ)
    before = git(repository, environ, "for-each-ref")
    left_by(
        tree,
        {**environ, "OTHER": f"{repository}/other"},
        f"echo 2 > b; git add b; git commit -qm two; {FORGED[what]}",
    )
    with pytest.raises(HermesError, match="cannot be told"):
        state(repository, environ, tree)
    assert (git(repository, environ, "for-each-ref"), tree.path.is_dir()) == (before, True)
    assert git(repository, environ, "fsck", "--strict", "--no-dangling") == ""


def test_content_under_the_name_of_an_object_of_the_users_stays_in_the_worktree(
    repository: Path, environ: dict[str, str]
) -> None:
    tree = made(repository, environ)
    blob = git(repository, environ, "rev-parse", "main:a.txt").strip()
    (tree.path / ".git/objects" / blob[:2]).mkdir()
    (tree.path / ".git/objects" / blob[:2] / blob[2:]).write_bytes(zlib.compress(b"blob 5\0EVIL\n"))
    left_by(tree, environ, "echo 2 > b; git add b; git commit -qm two")
    assert state(repository, environ, tree).commits == 1
    assert git(repository, environ, "show", "hermes/x:a.txt") == "one\n"
    assert git(repository, environ, "fsck", "--strict", "--no-dangling") == ""


def test_a_commit_whose_files_are_hidden_behind_a_forged_object_is_not_taken_over(
    repository: Path, environ: dict[str, str]
) -> None:
    tree = made(repository, environ)
    old = git(repository, environ, "rev-parse", "main^{tree}").strip()
    left_by(tree, environ, "echo 2 > b; git add b; git commit -qm two")
    kept = git(tree.path, environ, "rev-parse", "HEAD:b").strip()
    listed = b"100644 b\0" + bytes.fromhex(kept)  # as if the project had the file already
    (tree.path / ".git/objects" / old[:2]).mkdir(exist_ok=True)
    forged = zlib.compress(b"tree %d\0" % len(listed) + listed)
    (tree.path / ".git/objects" / old[:2] / old[2:]).write_bytes(forged)
    with pytest.raises(HermesError, match="cannot be told: git index-pack: "):
        state(repository, environ, tree)
    assert (git(repository, environ, "branch"), tree.path.is_dir()) == ("* main\n", True)


LED = {
    "packs": "mv .git/objects/pack .git/packs; ln -s {out} .git/objects/pack",
    "objects": "mv .git/objects {out}/objects; ln -s {out}/objects .git/objects",
    "branches": "mkdir {out}/heads; ln -s {out}/heads .git/refs/heads/hermes",
    "packed branches": "ln -s {out}/packed .git/packed-refs",
    "what is kept": "mv .git/refs/hermes {out}/; ln -s {out}/hermes .git/refs/hermes",
    "a log": "mkdir -p .git/logs/refs/heads/hermes; ln -s {out}/log .git/logs/refs/heads/hermes/x",
}


@pytest.mark.parametrize("what", LED)
def test_nothing_is_written_through_a_link_that_came_into_the_repository_meanwhile(
    repository: Path, environ: dict[str, str], tmp_path: Path, what: str
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "log").touch()
    found = of(repository, environ)
    tree = found.make("x")
    left_by(tree, environ, "echo 2 > b; git add b; git commit -qm two")
    command = LED[what].format(out=out)
    subprocess.run(["bash", "-ec", command], cwd=repository, env=environ, check=True)
    before = whole(out)
    with pytest.raises(HermesError, match=r"cannot be told: .*link"):
        found.take_over(tree)
    assert (whole(out), tree.path.is_dir()) == (before, True)
