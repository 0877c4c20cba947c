"""`hermes approvals`, as a program: it says what would happen, runs nothing, and takes grants back."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.apps.conftest import Run


@pytest.fixture
def config(environ: dict[str, str]) -> Path:
    file = Path(environ["HERMES_HOME"]) / "config.yaml"
    file.parent.mkdir()
    return file


def judged(run: Run, *arguments: str, **more: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("approvals", "test", "--json", *arguments, **more).stdout)
    return found


def test_a_verdict_is_told_whole_for_programs_and_nothing_runs(run: Run, work: Path) -> None:
    (work / "src").mkdir()
    done = run("approvals", "test", "--json", "--sandbox", "off", "--", "rm -rf src")
    assert (done.returncode, done.stderr) == (3, "")
    assert json.loads(done.stdout) == {
        "v": 1,
        "command": "rm -rf src",
        "cwd": str(work),
        "sandbox": "off",
        "decision": "ask",
        "rule": "delete",
        "classes": ["delete inside"],
        "effects": ["delete"],
        "reasons": ["it deletes src, and it cannot be brought back"],
        "by": "rule",
        "confined": False,
        "network": False,
        "writable": False,
        "paths": [],
        "protected": False,
        "findings": [
            {
                "class": "delete inside",
                "effect": "delete",
                "rule": "delete",
                "reason": "it deletes src, and it cannot be brought back",
                "words": "rm -rf src",
            }
        ],
        "session_pattern": f"{work}$ rm -rf src",
        "always_pattern": f"{work}$ rm -rf src",
        "settings": [],
    }
    assert (work / "src").is_dir()


def test_a_verdict_is_told_in_plain_lines_for_people(run: Run, work: Path) -> None:
    done = run("approvals", "test", "--sandbox", "workspace", "--host", "github.com", "git push")
    assert (done.returncode, done.stdout.splitlines()) == (
        3,
        [
            "ask: it runs only after a yes",
            "  because  it asks for the network, to reach github.com",
            "  because  it changes a repository that others use",
            "  effect   needs-network: asks for the network",
            "  effect   publish: publishes or changes something that others see",
            "  class    network out, publish",
            "  words    host github.com",
            "  words    git push",
            f"  session  a yes for the session covers {work}$ git push … (git-push, needs-host) {{needs host github.com}}",
            f"  always   a yes for good covers {work}$ git push {{needs host github.com}}",
            "  runs     in the sandbox, with the network to github.com",
        ],
    )


@pytest.mark.parametrize(
    ("command", "without", "within"),
    [
        ("ls -la", ("allow", 0), ("contain", 0)),
        ("rm -rf src", ("ask", 3), ("allow", 0)),
        ("echo x > .env", ("ask", 3), ("ask", 3)),
        ("rm -rf /", ("deny", 4), ("deny", 4)),
    ],
)
def test_each_verdict_has_its_exit_code(
    run: Run, command: str, without: tuple[str, int], within: tuple[str, int]
) -> None:
    for mode, wanted in (("off", without), ("workspace", within)):
        done = run("approvals", "test", "--sandbox", mode, "--", command)
        assert (done.stdout.split(":")[0], done.returncode) == wanted


def test_without_a_choice_it_is_judged_by_what_works_here(run: Run) -> None:
    assert judged(run, "ls")["decision"] == "contain"
    assert judged(run, "ls", HERMES_SANDBOX="off")["decision"] == "allow"


def test_several_words_are_one_command_with_its_spaces_kept(run: Run) -> None:
    assert judged(run, "rm", "-rf", "my folder")["command"] == "rm -rf 'my folder'"
    assert judged(run, "--", "echo a  && rm -rf b")["command"] == "echo a  && rm -rf b"


def test_a_setting_that_decided_is_named_with_its_place(run: Run, config: Path, work: Path) -> None:
    config.write_text(f"command_allowlist:\n- {work}$ rm -rf src\nterminal:\n  network: true\n")
    allowed = judged(run, "rm -rf src")
    assert (allowed["decision"], allowed["by"], allowed["settings"]) == (
        "allow",
        "allowlist",
        ["command_allowlist holds it (config.yaml line 1)"],
    )
    assert judged(run, "rm -rf other")["settings"] == []
    pushed = judged(run, "git push")
    assert (pushed["decision"], pushed["settings"]) == (
        "ask",
        ["terminal.network is true (config.yaml line 4)"],
    )
    config.write_text("approvals: {mode: off}\n")
    off = judged(run, "rm -rf src")
    assert (off["decision"], off["by"], off["settings"]) == (
        "allow",
        "yolo",
        ["approvals.mode is off (config.yaml line 1)"],
    )
    assert judged(run, "rm -rf /")["decision"] == "deny"


def test_a_read_only_workspace_is_named_where_nothing_asks(run: Run) -> None:
    done = run("approvals", "test", "--sandbox", "read-only", "--", "touch x")
    where = "in the sandbox, where the workspace is read-only unless a path in it is declared"
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, f"  runs     {where}, without the network")


def test_yolo_is_named_when_it_decided(run: Run) -> None:
    done = run("--yolo", "approvals", "test", "rm -rf src")
    assert (done.returncode, done.stdout.splitlines()[:2]) == (
        0,
        ["allow: it runs without a question", "  setting  --yolo is given"],
    )


def test_grants_are_listed_and_an_empty_list_is_one_sentence(run: Run, config: Path) -> None:
    none = run("approvals", "list")
    assert (none.returncode, none.stdout, none.stderr) == (
        0,
        "",
        "Nothing is allowed for good; the answer 'always' to a question adds to this list.\n",
    )
    config.write_text("command_allowlist: ['/w$ make deploy', '/w$ git push']\n")
    assert [row.split() for row in run("approvals", "list").stdout.splitlines()] == [
        ["1", "this", "command", "/w$", "make", "deploy", "any", "for", "good"],
        ["2", "this", "command", "/w$", "git", "push", "any", "for", "good"],
    ]


def test_a_limited_grant_shows_what_is_left_of_it_and_is_revoked_by_its_number(
    run: Run, config: Path
) -> None:
    config.write_text(
        "command_allowlist:\n- write /w/notes.txt [2 uses left, until 2031-01-02T03:04:00Z]\n- /w$ git push\n"
    )
    assert run("approvals", "list").stdout.splitlines()[0].split() == [
        "1", "this", "file", "write", "/w/notes.txt", "2", "2031-01-02", "03:04", "UTC",
    ]  # fmt: skip
    assert run("approvals", "revoke", "1").returncode == 0
    assert config.read_text() == "command_allowlist:\n- /w$ git push\n"


def test_a_grant_is_revoked_by_a_part_that_only_it_has_and_comments_stay(run: Run, config: Path) -> None:
    config.write_text(
        "# mine\ncommand_allowlist:\n- /w$ make deploy\n# pushes\n- /w$ git push\n- /w$ git push --tags\n"
    )
    done = run("approvals", "revoke", "deploy")
    assert (done.returncode, done.stdout) == (
        0,
        f"/w$ make deploy is taken out of command_allowlist in {config}.\n",
    )
    assert run("approvals", "revoke", "/w$ git push").returncode == 0
    assert config.read_text() == "# mine\ncommand_allowlist:\n# pushes\n- /w$ git push --tags\n"


def test_a_part_that_no_entry_or_several_have_revokes_nothing(run: Run, config: Path) -> None:
    text = "command_allowlist:\n- /w$ git push\n- /w$ git push --tags\n"
    config.write_text(text)
    several = run("approvals", "revoke", "git")
    assert (several.returncode, several.stderr) == (
        2,
        "hermes: 2 entries of command_allowlist contain 'git'; give more of the one you mean:\n/w$ git push\n/w$ git push --tags\n",
    )
    none = run("approvals", "revoke", "make")
    assert (none.returncode, none.stderr) == (
        2,
        "hermes: Nothing in command_allowlist contains 'make'; hermes approvals list shows what it holds.\n",
    )
    assert config.read_text() == text


def test_a_revoked_grant_is_asked_about_again(run: Run, config: Path, work: Path) -> None:
    config.write_text(f"command_allowlist:\n- {work}$ rm -rf src; echo x > .env\n")
    assert judged(run, "rm -rf src; echo x > .env")["decision"] == "allow"
    run("approvals", "revoke", "src")
    assert judged(run, "rm -rf src; echo x > .env")["decision"] == "ask"


def explained(run: Run, *words: str) -> tuple[int, list[str]]:
    done = run("approvals", "explain", *words)
    return done.returncode, done.stdout.splitlines()


def test_a_command_is_explained_in_three_lines(run: Run, work: Path, config: Path) -> None:
    assert explained(run, "--sandbox", "workspace", "--host", "x.org", "--", "curl x.org") == (
        0,
        [
            "ask: it runs only after a yes",
            "because it asks for the network, to reach x.org (read as curl x.org)",
            "otherwise a yes for the session or for good, to requests to x.org; or terminal.network: [x.org]",
        ],
    )
    assert explained(run, "--sandbox", "workspace", "ls -la && make")[1] == [
        "contain: it runs in the sandbox without a question",
        "because it has all it asks for in the sandbox, mode workspace (read as ls -la, make)",
        "otherwise what it declares beyond the sandbox (--host, --network, --path, --unconfined) asks",
    ]
    (work / "src").mkdir()
    assert explained(run, "--sandbox", "workspace", "rm", "-rf", "src")[1] == [
        "allow: it runs without a question, once what it could lose was saved",
        "because it could lose src, which is saved first (read as rm -rf src)",
        "otherwise checkpoints.max_megabytes below what it could lose, and it asks",
    ]
    assert explained(run, "--sandbox", "off", "rm -rf /")[1][::2] == [
        "deny: it never runs",
        "otherwise nothing: no answer, no setting and no --yolo lets it run",
    ]
    config.write_text("capabilities: {hosts: []}\n")
    assert explained(run, "--sandbox", "workspace", "--host", "x.org", "--", "curl x.org")[1] == [
        "deny: it never runs",
        "because this session may not reach x.org",
        "otherwise other bounds: capabilities in config.yaml",
    ]


def test_a_command_that_resembles_the_name_of_a_rule_is_a_command(run: Run, work: Path) -> None:
    code, lines = explained(run, "--sandbox", "off", "git reset --hard")
    assert (code, lines[0]) == (0, "ask: it runs only after a yes")


def test_a_rule_is_explained_with_its_examples(run: Run) -> None:
    done = run("approvals", "explain", "write-device")
    assert done.returncode == 0
    assert done.stdout.startswith(
        "write-device: it writes straight to a device\n  class    write outside\n  effect   erase: it destroys a system, a disk or a home folder, which is never allowed\n"
        "  found    dd if=/dev/zero of=/dev/sda bs=1M\n"
    )
    assert "  passes   dd if=/dev/zero of=disk.img bs=1M count=1\n" in done.stdout


def test_a_rule_that_nobody_knows_leads_to_near_ones(run: Run) -> None:
    done = run("approvals", "explain", "git-psh")
    assert done.returncode == 2
    assert done.stderr.startswith("hermes: There is no rule git-psh. Did you mean git-push")
    assert done.stderr.endswith("hermes approvals explain lists them all.\n")


def test_without_a_name_all_rules_are_listed(run: Run) -> None:
    lines = run("approvals", "explain").stdout.splitlines()
    assert len(lines) > 80
    assert [line.split()[:2] for line in lines if line.startswith("delete ")] == [["delete", "delete"]]
