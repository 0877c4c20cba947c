"""Whatever can start a program or change a file passes the gate, or stands here with the reason why it need not."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import hermes

SOURCE: Final = Path(hermes.__file__).parent
STARTS: Final = frozenset(
    {
        "Popen",
        "run_process",
        "open_process",
        "system",
        "popen",
        "execv",
        "execve",
        "execvp",
        "execvpe",
        "posix_spawn",
        "spawnv",
        "spawnve",
    }
    | {
        "create_subprocess_exec",
        "create_subprocess_shell",
        "fork",
        "forkpty",
        "startfile",
        "check_output",
        "check_call",
        "getoutput",
    }
)
CHANGES: Final = frozenset(
    {
        "write_bytes",
        "write_text",
        "unlink",
        "rmtree",
        "rename",
        "replace_file",
        "removedirs",
        "symlink_to",
        "hardlink_to",
        "truncate",
        "touch",
    }
    | {"write_atomic", "chmod"}
)
FREE: Final = {
    "config/edit.py": "the user's own commands change settings; the agent has no tool that calls it, and the gate refuses the file",
    "config/environ.py": "reads",
    "lib/files.py": "writes for its callers, which stand here themselves",
    "lib/git_commits.py": "in the folder that a setting names for notes",
    "lib/git_packs.py": "one pack in the repository that hermes -w was typed in, for its caller, which stands here itself",
    "lib/beneath.py": "modes of folders, for its callers, which stand here themselves",
    "lib/bounded_process.py": "git with an environment of its own that runs nothing else (lib/safe_git.py), for callers which stand here themselves",
    "lib/child_processes.py": "programs of its callers, which stand here themselves",
    "lib/archives.py": "the files of an archive, for its callers, which stand here themselves",
    "lib/removal.py": "folders of its callers, which stand here themselves",
    "lib/sqlite.py": "a new file of its callers, which stand here themselves, under a name of its own at first",
    "lib/trees.py": "copies for its callers, which stand here themselves",
    "lib/locks.py": "lock files of its callers, which stand here themselves",
    "models/": "keys, windows and models that the user asked for, in our own folders",
    "commands/": "the person's own words in a conversation",
    "store/": "sessions and keys in our own home",
    "tools/results.py": "uncut results in the session's own scratch folder",
    "apps/": "the person's own commands and screen, with fixed words",
    "environments/": "the machines behind ShellWorkspace, which redeems a permit before each use (see below)",
    "plugins/": "loads what the user has switched on",
    "compat/": "functions for the code of plugins, which the user has switched on and which can write by itself",
    "mcp/": "what was accepted of servers, sign-ins, and pictures that servers gave, in our own home",
    "skills/": "loads what the user has put there",
    "data/skills/": "scripts that a session runs, like any other command",
    "safety/": "decides; what it keeps is our own record",
    "agent/": "the session's own files",
    "runtime.py": "makes our own folders",
    "testing/": "tests",
}
TOOLS: Final = "tools/builtin/"


def calls() -> Iterator[tuple[str, str]]:
    """Pairs (module, name) of calls that start a program or change a file."""
    for path in sorted(SOURCE.rglob("*.py")):
        module = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            target = node.func
            name = (
                target.attr
                if isinstance(target, ast.Attribute)
                else target.id
                if isinstance(target, ast.Name)
                else ""
            )
            owner = (
                target.value.id
                if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)
                else ""
            )
            if (
                (owner != "platform" and name in STARTS | CHANGES)
                or (owner == "subprocess" and name in {"run", "call"})
                or (owner == "os" and name in {"remove", "replace"})
            ):
                yield module, name


def test_a_program_is_started_or_a_file_changed_in_known_places_alone() -> None:
    found = {(module, name) for module, name in calls() if not module.startswith(tuple(FREE))}
    assert found == set()


def test_no_tool_starts_a_program_or_changes_a_file_by_itself() -> None:
    assert [(module, name) for module, name in calls() if module.startswith(TOOLS)] == []


def test_programs_are_started_for_sessions_by_environments_alone() -> None:
    outside = {
        module
        for module, name in calls()
        if name in STARTS and not module.startswith(("environments/", "models/", "apps/", "testing/"))
    }
    switched_on = {
        "plugins/isolation.py",
        "plugins/keeper.py",
        "plugins/hook_process.py",
    }  # by the user, with consent to each
    assert outside == {"lib/bounded_process.py", "lib/child_processes.py", *switched_on}
    starting = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if "run_bounded(" in path.read_text(encoding="utf-8")
    }
    reads = "apps/cli/skill_publish.py"  # the name and address of the user, out of git's settings
    assert starting == {"lib/bounded_process.py", "lib/safe_git.py", reads}, (
        "git alone, of which nothing else is run"
    )


def test_every_use_of_an_environment_redeems_a_permit_first() -> None:
    tree = ast.parse((SOURCE / "environments/workspace.py").read_text(encoding="utf-8"))
    (workspace,) = [
        node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "ShellWorkspace"
    ]
    methods = [one for one in workspace.body if isinstance(one, ast.AsyncFunctionDef | ast.FunctionDef)]
    redeeming = {"_redeem", *(one.name for one in methods if "_redeem" in _own_attributes(one))}
    for method in methods:
        used = [
            one
            for one in ast.walk(method)
            if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Attribute)
        ]
        machine = [one for one in used if one.value.attr == "_environment" and one.attr in {"exec", "spawn"}]  # type: ignore[attr-defined]
        files = [one for one in used if one.value.attr == "_files" and one.attr != "locate"]  # type: ignore[attr-defined]
        said = _own_attributes(method)
        redeemed = min((line for name, line in said.items() if name in redeeming), default=10**6)
        assert all(redeemed < one.lineno for one in machine), method.name
        assert not files or "_decided" in said, method.name


def _own_attributes(method: ast.AST) -> dict[str, int]:
    """What a method uses of itself, with the line."""
    return {
        one.attr: one.lineno
        for one in ast.walk(method)
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)
    }


def test_whoever_uses_an_environment_is_a_workspace() -> None:
    users = set()
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "_environment.exec(" in text or "_environment.spawn(" in text:
            users.add(path.relative_to(SOURCE).as_posix())
    assert {one for one in users if not one.startswith("environments/")} == set()
