"""What must be saved before a command that only loses something; nothing where that is no answer."""

import pytest
from msgspec.structs import replace

from hermes.safety.decide import Policy, decide
from hermes.safety.undo import may_change, to_save
from hermes.types.action import Command
from hermes.types.needs import NO_NEEDS, Needs

WORK = "/data/project"
POLICY = Policy(workspace=WORK, home="/home/user", hermes_home="/home/user/.hermes", sandbox="workspace")


def saved(command: str, policy: Policy = POLICY, needs: Needs = NO_NEEDS) -> tuple[str, ...]:
    action = Command(command=command, cwd=WORK, needs=needs)
    return to_save(action, decide(action, policy), policy)


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("rm -rf src", (f"{WORK}/src",)),
        ("rm -rf src tests/a tests", (f"{WORK}/src", f"{WORK}/tests")),
        ("cd src && rm -rf deep", (WORK,)),
        ("rm -rf src/*", (f"{WORK}/src",)),
        ("rm -rf *.py", (WORK,)),
        ("rm -rf src && mkdir src && cp a src", (f"{WORK}/src",)),
        ("rm -rf src; make", (f"{WORK}/src",)),
        ("rm -rf q; mv src q; rm -rf q", (WORK,)),
        ("rm -rf q; git clean -fdx", (WORK,)),
        ("rm -rf q; bash -c 'mv src q; rm -rf q'", (WORK,)),
        ("rm -rf q & mv src q", (WORK,)),
        ("rm -rf src/*/x", (WORK,)),
        ("rm -rf link/../data", (WORK,)),
        ("mv src gone && rm -rf gone", (WORK,)),
        ("(mv src zz); (rm -rf zz)", (WORK,)),
        ("rm -rf !(keep)", (WORK,)),
        ("rm -rf @(src|sub)", (WORK,)),
        ("rm -rf $'s\\xffc'", (WORK,)),
        ("env -C sub rm -rf src", (WORK,)),
        ("rm -rf a{b,c}", (WORK,)),
        ('rm -rf "$D"', (WORK,)),
        ("find . -name '*.py' -delete", (WORK,)),
        ("git reset --hard", (WORK,)),
        ("git branch -D old && rm -rf src", (WORK,)),
        ("rm -rf .git", (f"{WORK}/.git",)),
    ],
)
def test_what_a_command_may_lose_is_saved(command: str, paths: tuple[str, ...]) -> None:
    assert saved(command) == paths


@pytest.mark.parametrize(
    ("command", "needs"),
    [
        ("ls", NO_NEEDS),
        ("make", NO_NEEDS),
        ("rm -rf src && echo x > .env", NO_NEEDS),
        ("rm -rf src", Needs(hosts=("a.example",))),
        ("rm -rf src", Needs(unconfined=True)),
        ("psql -c 'drop table x'", NO_NEEDS),
        ("rm -rf /", NO_NEEDS),
    ],
)
def test_what_asks_for_something_else_too_or_not_at_all_is_not(command: str, needs: Needs) -> None:
    assert saved(command, needs=needs) == ()


@pytest.mark.parametrize("sandbox", ["off", "full", "container"])
def test_where_more_than_the_workspace_could_be_lost_it_asks(sandbox: str) -> None:
    assert saved("rm -rf src", replace(POLICY, sandbox=sandbox)) == ()


@pytest.mark.parametrize(
    "command",
    [
        "date; date -u +%s; date -d 'last monday' +%F; date -Iseconds; date --date=now",
        "hostname; hostname -I; hostname --fqdn",
        "printf '%s\\n' a b",
        "jobs -l; wait; wait %1",
    ],
)
def test_what_only_reads_in_this_form_changes_nothing(command: str) -> None:
    action = Command(command=command, cwd=WORK)
    assert not may_change(action, decide(action, POLICY))


@pytest.mark.parametrize(
    "command",
    [
        "date -s 2000-01-01",
        "date --se=2000-01-01",
        "date -us now",
        "date 010100002020",
        'date "$X"',
        "hostname evil",
        "hostname -F name",
        "printf -v PATH /tmp",
        "jobs -x rm -rf src",
        "wait -p PATH",
        "sysctl -w a.b=1",
        "sysctl -p",
        "mount -a",
        "umount x",
        "ulimit -n 5",
        "sort -o a b",
    ],
)
def test_what_changes_something_in_this_form_is_not_known_to_read(command: str) -> None:
    action = Command(command=command, cwd=WORK)
    assert may_change(action, decide(action, POLICY))
