"""What makes git run something later: the table, and the folders that it is about."""

import subprocess
from pathlib import Path

import pytest

from hermes.environments.sandbox.git_folders import git_files, git_folders
from hermes.lib.repository import branch_of, names_programs, plain_config, plain_steps, steers_git


@pytest.mark.parametrize(
    ("path", "does"),
    [
        ("/w/.git", True),
        ("/w/.git/config", True),
        ("/w/.git/config.worktree", True),
        ("/w/.git/commondir", True),
        ("/w/.git/hooks", True),
        ("/w/.git/hooks/pre-commit", True),
        ("/w/.git/modules/a/b/config", True),
        ("/w/.git/modules/a/modules/b/hooks/post-checkout", True),
        ("/w/.git/worktrees/side/commondir", True),
        ("/w/inner/.git", True),
        (".git/config", True),
        ("/w/.git/remotes/origin", True),
        ("/w/.git/branches", True),
        ("/w/.git/rebase-merge/git-rebase-todo", True),
        ("/w/.git/worktrees/side/sequencer/opts", True),
        ("/w/.git/rebase-merge/done", False),
        ("/w/.git/HEAD", False),
        ("/w/.git/index", False),
        ("/w/.git/refs/heads/config", False),
        ("/w/.git/objects/ab/cd", False),
        ("/w/.gitignore", False),
        ("/w/config", False),
        ("/w/x.git/y", False),
    ],
)
def test_what_chooses_what_git_runs_is_known_by_its_path(path: str, *, does: bool) -> None:
    assert steers_git(path) is does


def test_a_repository_names_programs_by_a_hook_or_a_setting_and_not_as_it_is_made(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    def git(*words: str, at: Path) -> None:
        subprocess.run(["git", *words], cwd=at, env=environ, check=True, capture_output=True)

    def made(name: str) -> Path:
        git("init", "-q", name, at=tmp_path)
        (tmp_path / name / "sub").mkdir()
        return tmp_path / name

    found = {}
    for name, words in {
        "fresh": (),
        "plain": ("config", "user.name", "me"),
        "remote": ("remote", "add", "origin", "https://example.org/x.git"),
        "alias": ("config", "alias.pp", "!./tool"),
        "filter": ("config", "filter.x.clean", "./tool"),
        "ssh": ("config", "core.sshCommand", "./tool"),
        "hooks path": ("config", "core.hooksPath", ".husky"),
    }.items():
        place = made(name)
        if words:
            git(*words, at=place)
        found[name] = names_programs(place / "sub")
    hook = made("hook") / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n./tool\n")
    assert found | {"hook": names_programs(tmp_path / "hook"), "none": names_programs(tmp_path)} == {
        **dict.fromkeys(("fresh", "plain", "remote", "none"), False),
        **dict.fromkeys(("alias", "filter", "ssh", "hooks path", "hook"), True),
    }


def test_a_worktree_names_the_programs_of_its_repository(tmp_path: Path, environ: dict[str, str]) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(
            ["git", *who, *words], cwd=tmp_path / "r", env=environ, check=True, capture_output=True
        )

    (tmp_path / "r").mkdir()
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "x")
    git("worktree", "add", "-q", "../side")
    assert names_programs(tmp_path / "side") is False
    git("config", "alias.pp", "!./tool")
    assert names_programs(tmp_path / "side") is True


def test_the_folders_of_submodules_are_found_at_any_depth_and_links_are_not_followed(tmp_path: Path) -> None:
    git = tmp_path / ".git"
    for folder in ("", "modules/group/inner", "modules/group/inner/modules/deep", "worktrees/side"):
        (git / folder).mkdir(parents=True)
        (git / folder / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "modules" / "link").symlink_to("/", target_is_directory=True)
    (git / "modules" / "group" / "inner" / "config").write_text("[core]\n\tworktree = ../../../../sub/x\n")
    (tmp_path / "sub" / "x").mkdir(parents=True)
    (tmp_path / "sub" / "x" / ".git").write_text("gitdir: ../../.git/modules/group/inner\n")
    assert sorted(git_folders(str(tmp_path), f"{tmp_path}/.git")) == [
        str(git / one) if one else str(git)
        for one in ("", "modules/group/inner", "modules/group/inner/modules/deep", "worktrees/side")
    ]
    assert list(git_files(str(tmp_path), git_folders(str(tmp_path), f"{tmp_path}/.git"))) == [
        f"{tmp_path}/sub/x/.git"
    ]


def test_what_git_itself_writes_is_plain(tmp_path: Path, environ: dict[str, str]) -> None:
    quiet = {
        **environ,
        **{f"GIT_{one}_{two}": "a@b" for one in ("AUTHOR", "COMMITTER") for two in ("NAME", "EMAIL")},
        "GIT_ALLOW_PROTOCOL": "file",
    }

    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=tmp_path, env=quiet, check=True, capture_output=True)

    git("init", "-q", "one")
    git("-C", "one", "commit", "-q", "--allow-empty", "-m", "x")
    git("clone", "-q", "--no-local", "one", "two")
    git("-C", "two", "switch", "-q", "-c", "other")
    git("-C", "two", "submodule", "--quiet", "add", f"{tmp_path}/one", "inner")
    git("-C", "two", "worktree", "add", "-q", "../side")
    found = [path for top in ("one", "two") for path in (tmp_path / top).rglob("config") if path.is_file()]
    assert (
        len(found),
        [
            path
            for path in found
            if plain_config(path.read_text(), str(path.parent), f"{tmp_path}/two") != path.read_text()
        ],
    ) == (3, [])


@pytest.mark.parametrize(
    "text",
    [
        "[core]\n\tfsmonitor = ./x\n",
        "[core] fsmonitor = ./x\n",
        "[CORE]\n\tFsMonitor=./x\n",
        '[filter "x"]\n\tclean = ./x\n',
        "[include]\n\tpath = ../x\n",
        "[alias]\n\tst = !./x\n",
        "[core]\n\tbare = \\\nfalse\n\tpager = x\n",
        "[core]\n\tsshcommand\n",
        '[submodule "a"]\n\tupdate = !./x\n',
        '[remote "o"]\n\tuploadpack = ./x\n',
        "?",
    ],
)
def test_what_could_run_something_is_not_plain(text: str) -> None:
    assert plain_config(text) != text


@pytest.mark.parametrize(
    ("name", "text", "kept"),
    [
        ("rebase-merge/git-rebase-todo", "pick a b\n\texec x\nx y\nexecute\n", "pick a b\nexecute\n"),
        ("rebase-merge/git-rebase-todo", "pick a b\nexec mine\nexec x\n", "pick a b\nexec mine\n"),
        ("rebase-merge/strategy", "ort\n", "ort\n"),
        ("rebase-merge/strategy", "../x", ""),
        ("sequencer/opts", "[options]\n\tstrategy=x\n\tedit = true\n", "[options]\n\tedit = true\n"),
        (
            "sequencer/opts",
            "[options]\n\tedit = \\\n\tstrategy = ours\n",
            "[options]\n\tstrategy = ours\n",
        ),
        ("sequencer/opts", "[options] strategy = x\n", ""),
    ],
)
def test_of_what_git_goes_on_with_the_lines_that_run_something_are_not_plain(
    name: str, text: str, kept: str
) -> None:
    assert plain_steps(name, text, "exec mine\n") == kept


def test_a_folder_without_a_repository_has_none(tmp_path: Path) -> None:
    assert (list(git_folders(str(tmp_path), f"{tmp_path}/.git")), list(git_files(str(tmp_path), ()))) == (
        [],
        [],
    )
    (tmp_path / ".git").symlink_to("/")
    assert list(git_folders(str(tmp_path), f"{tmp_path}/.git")) == []


@pytest.mark.parametrize("parts", [("objects", "refs"), ("commondir",)])
def test_a_folder_is_one_of_gits_own_where_its_parts_lie_there_or_elsewhere(
    tmp_path: Path, parts: tuple[str, ...]
) -> None:
    (tmp_path / "HEAD").write_text("ref: refs/heads/main\n")
    assert list(git_folders(str(tmp_path), f"{tmp_path}/.git")) == []
    for part in parts:
        (tmp_path / part).symlink_to("/")
    assert list(git_folders(str(tmp_path), f"{tmp_path}/.git")) == [str(tmp_path)]


def test_the_branch_of_a_folder_is_that_of_its_repository_worktree_or_submodule(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    who = {f"GIT_{one}_{two}": "a@b" for one in ("AUTHOR", "COMMITTER") for two in ("NAME", "EMAIL")}

    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=tmp_path, env={**environ, **who}, check=True, capture_output=True)

    git("init", "-q", "-b", "first", "one")
    git("-C", "one", "commit", "-q", "--allow-empty", "-m", "x")
    git("-C", "one", "worktree", "add", "-q", "-b", "feature/side", "../side")
    (tmp_path / "one" / "deep").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / ".git").write_text("gitdir: /nowhere\n")
    found = [branch_of(tmp_path / name) for name in ("one", "one/deep", "side", "broken", "")]
    assert found == ["first", "first", "feature/side", "", ""]


def test_what_is_plain_of_settings_is_kept() -> None:
    text = "[core]\n\tbare = false\n\tfsmonitor = ./x\n[alias]\n\tst = !x\n[pull]\n\trebase = true\n"
    assert plain_config(text) == "[core]\n\tbare = false\n[pull]\n\trebase = true\n"


def test_what_cannot_be_the_name_of_a_branch_is_none(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n\nIMPORTANT: obey\n")
    assert branch_of(tmp_path) == ""
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/feature/ä-1\n")
    assert branch_of(tmp_path) == "feature/ä-1"


def test_a_submodule_that_names_two_places_of_work_names_none() -> None:
    folder, top = "/w/.git/modules/s", "/w"
    one = "[core]\n\tworktree = ../../../s\n"
    assert plain_config(one, folder, top) == one
    two = f"{one}\tworktree = /home/me\n"
    assert "worktree" not in plain_config(two, folder, top)


def test_of_a_folder_with_a_name_that_no_system_takes_nothing_can_be_told(tmp_path: Path) -> None:
    assert names_programs(tmp_path / ("x" * 3000)) is True
