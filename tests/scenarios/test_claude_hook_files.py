"""A yes to a hook in the form of Claude Code is one to each file of the project that its command names."""

from pathlib import Path

import pytest

from hermes.environments.worktree_records import Worktree, WorktreeRecords
from hermes.plugins.hook_consent import HookConsent
from hermes.plugins.settings import ShellHook

SHAPES = r"""
$CLAUDE_PROJECT_DIR/.claude/hooks/check.sh --x
exec "$CLAUDE_PROJECT_DIR"'/.claude/hooks/check.sh'
"${CLAUDE_PROJECT_DIR%/}/.claude/hooks/check.sh"
"${CLAUDE_PROJECT_DIR:?}"/.claude/hooks/check.sh
cd .claude/hooks; ./check.sh
sh "$PWD/.claude/hooks/check.sh"
sh $PWD/.claude/hooks/check.sh
sh "$(pwd)/.claude/hooks/check.sh"
"$(git rev-parse --show-toplevel)/.claude/hooks/check.sh"
`pwd`/.claude/hooks/check.sh
P=.claude/hooks; sh $P/check.sh
P=.claude/hooks && sh "${P}/check.sh"
sh<.claude/hooks/check.sh
sh .claude/hooks/*.sh
sh .claude/hooks/{check,other}.sh
for f in .claude/hooks/*; do sh "$f"; done
bash -c "$(cat .claude/hooks/check.sh)"
sh $'.claude/hooks/check.sh'
sh .claude/hooks/che\ck.sh
sh .claude/hooks/c""heck.sh
sh .claude//hooks/./check.sh
sh .claude/../.claude/hooks/check.sh
sh -c "cd \"$CLAUDE_PROJECT_DIR/.claude\" && sh hooks/check.sh"
eval "sh .claude/hooks/check.sh"
jq -r .tool_input.file_path | xargs -I{} sh .claude/hooks/check.sh {}
jq -r .x | { read -r f; if echo "$f" | grep -q '\.ts$'; then sh .claude/hooks/check.sh "$f"; fi; }
sh .claude/hooks/check.sh # it's fine
sh .claude/hooks/check.sh>/dev/null
sh linked.sh
sh .claude/linked/check.sh
cd .claude && cd hooks && sh check.sh
sh -c "cd .claude; cd hooks; sh check.sh"
node .claude/hooks/load
python3 .claude/hooks/tool
cd .claude && cd hooks && python3 tool
chmod +x .claude/hooks/check.sh && .claude/hooks/check.sh
touch .claude/hooks/check.sh; for one in .claude/hooks/check.sh; do sh $one; done
touch .claude/hooks/check.sh; sh "$(cat)" .claude/hooks/check.sh
python3 run.py .claude/hooks/check.sh
cat .claude/hooks/check.sh | sh
cat .claude/hooks/check.sh | grep -v x | bash -s
eval "$(cat .claude/hooks/check.sh)"
. <(cat .claude/hooks/check.sh)
grep -q -f .claude/hooks/check.sh
jq -f .claude/hooks/check.sh
awk -f .claude/hooks/check.sh
cat .claude/hooks/check.sh | while read -r one; do $one; done
sh .claude/hooks/check.sh | tee .claude/hooks/check.log > check.log
""".strip().splitlines()


def put_script(project: Path) -> Path:
    script = project / ".claude/hooks/check.sh"
    script.parent.mkdir(parents=True)
    script.write_text("echo one")
    (project / "linked.sh").symlink_to(script)
    (project / ".claude/linked").symlink_to("hooks")
    (script.parent / "load.mjs").symlink_to("check.sh")
    (script.parent / "tool").mkdir()
    (script.parent / "tool/__main__.py").symlink_to("../check.sh")
    return script


@pytest.mark.parametrize("command", SHAPES)
@pytest.mark.parametrize("name", ["project", "a project"])
def test_a_script_that_was_changed_is_asked_about_however_it_is_named(
    tmp_path: Path, command: str, name: str
) -> None:
    project, hook = tmp_path / name, ShellHook(command=command, shell=True)
    script, consent = put_script(project), HookConsent(tmp_path / "home")
    consent.accept("PreToolUse", hook, project)
    before = consent.covers("PreToolUse", hook, project)
    script.write_text("echo two")
    assert (before, consent.covers("PreToolUse", hook, project)) == (True, False)


def test_a_yes_in_a_repository_holds_in_its_worktrees_while_the_files_are_the_same(tmp_path: Path) -> None:
    hook = ShellHook(command='sh "$CLAUDE_PROJECT_DIR"/.claude/hooks/check.sh', shell=True)
    main, worktree, other = (
        tmp_path / "main",
        tmp_path / "main.worktrees/one",
        tmp_path / "main.worktrees/two",
    )
    scripts = [put_script(folder) for folder in (main, worktree, other)]
    consent = HookConsent(tmp_path / "home")
    (tmp_path / "home/worktrees").mkdir(parents=True)
    WorktreeRecords(tmp_path / "home").keep(Worktree(name="one", path=worktree, main=main, base="0"))

    def covered() -> list[bool]:
        return [consent.covers("Stop", hook, folder) for folder in (main, worktree, other)]

    consent.accept("Stop", hook, main)
    before = covered()
    scripts[1].write_text("echo two")
    assert (before, covered()) == ([True, True, False], [True, False, False])
    assert consent.news("Stop", hook, worktree) == "Since your yes check.sh was changed."
    consent.accept("Stop", hook, worktree)
    assert covered() == [True, True, False]


@pytest.mark.parametrize(
    "command",
    [
        "jq -r .tool_input.file_path | xargs prettier --write",
        "ruff format . && git diff --stat",
        "jq -r '.tool_input | {file_path, content}' >> .claude/log",
        "grep -q '*.py' && ruff check src/",
        'pytest > .claude/log 2>&1 || { echo "$(tail -1 .claude/log)" >&2; exit 2; }',
        'jq -c . | tee -a "$CLAUDE_PROJECT_DIR/.claude/log" | wc -l',
        "[ -e .claude/log ] || { touch .claude/log; echo first; }",
        'cp "$(jq -r .tool_input.file_path)" .claude/log',
        "python3 .claude/hooks/log.py .claude/log --stamp=.claude/log",
        "./run.sh .claude/log < .claude/log",
        "cp a.py ~/.claude/backup.py",
        "grep -q secret a.py && exit 2 || exit 0",
        "head -c 100 src/a.py | grep -q secret && exit 2; wc -l a.py",
        'n=$(cat .claude/log); echo "$((n + 1))" > .claude/log',
    ],
)
def test_a_yes_lasts_while_a_session_changes_what_the_command_works_on(tmp_path: Path, command: str) -> None:
    project, hook = tmp_path / "project", ShellHook(command=command, shell=True)
    (project / "src").mkdir(parents=True)
    (project / ".claude").mkdir()
    consent = HookConsent(tmp_path / "home")
    consent.accept("PostToolUse", hook, project)
    for name in ("src/a.py", "a.py", ".claude/log"):
        (project / name).write_text("x")
    assert consent.covers("PostToolUse", hook, project)
