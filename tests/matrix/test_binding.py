"""An answer is good for what was asked, where it was asked, once."""

from pathlib import Path
from typing import Final

import anyio
import pytest

from hermes.agent.gate import ApprovalGate
from hermes.apps.tui.question_box import BURST, STILL, Box, box_lines
from hermes.composition import SYSTEM_PORTS
from hermes.environments.local_workspace import LocalWorkspace
from hermes.present.spans import plain
from hermes.safety.decide import Policy
from hermes.types.action import Action, Command, Permit, digest_of
from hermes.types.error import Refused
from hermes.types.question import Answer, Approve, Deny, Grant, Question

from .conftest import Bench, Open

pytestmark = pytest.mark.anyio
DELETE: Final = "rm -rf plans"


async def yes(_question: Question) -> Answer:
    return Grant()


async def test_one_yes_runs_one_command_once(bench: Open) -> None:
    here = bench(yes)
    await here.space.run(DELETE, timeout=10)
    await here.space.run(DELETE, timeout=10)
    assert len(here.asked) == 2


def space_with(bench: Bench, tmp_path: Path, environ: dict[str, str], permit: Permit) -> LocalWorkspace:
    """A workspace whose every question is answered with the same permit."""

    async def same(_action: Action) -> Permit:
        return permit

    return LocalWorkspace(bench.root, authorize=same, environ=environ, scratch=tmp_path / "other")


async def test_a_permit_of_another_action_is_refused(
    bench: Open, tmp_path: Path, environ: dict[str, str]
) -> None:
    here = bench(yes)
    for other in ("rm -rf plan", "rm -rf plans ", "ls"):
        permit = await here.gate.authorize(Command(command=other, cwd=str(here.root)))
        with pytest.raises(Refused, match="changed while this was decided"):
            await space_with(here, tmp_path, environ, permit).run(DELETE, timeout=10)
        with pytest.raises(Refused, match="changed while this was decided"):
            await space_with(here, tmp_path, environ, permit).start(DELETE)
        with pytest.raises(Refused, match="changed while this was decided"):
            await space_with(here, tmp_path, environ, permit).write("a.txt", b"")
    assert here.is_unharmed


async def test_a_permit_is_used_up(bench: Open, environ: dict[str, str], tmp_path: Path) -> None:
    here, given = bench(yes), list[Permit]()

    async def replayed(action: Action) -> Permit:
        given.append(given[0] if given else await here.gate.authorize(action))
        return given[-1]

    space = LocalWorkspace(here.root, authorize=replayed, environ=environ, scratch=tmp_path / "other")
    await space.write("a.txt", b"1")
    with pytest.raises(Refused, match="used before"):
        await space.write("a.txt", b"2")
    assert (here.root / "a.txt").read_bytes() == b"1"


async def test_a_yes_does_not_count_when_the_variables_change_while_it_is_given(bench: Open) -> None:
    asked, change = anyio.Event(), anyio.Event()

    async def slowly(_question: Question) -> Answer:
        asked.set()
        await change.wait()
        return Grant()

    here = bench(slowly)

    async def changes() -> None:
        await asked.wait()
        await here.space.run("export TARGET=plans", timeout=10)
        change.set()

    async with anyio.create_task_group() as group:
        group.start_soon(changes)
        with pytest.raises(Refused, match="changed while this was decided"):
            await here.space.start('rm -rf "$TARGET"')
    assert here.is_unharmed


async def test_a_yes_to_a_script_does_not_count_when_it_is_another_by_then(bench: Open) -> None:
    async def swap(_question: Question) -> Answer:
        (here.root / "clean.sh").write_text("rm -rf plans\n")
        return Grant()

    here = bench(swap)
    (here.root / "clean.sh").write_text("true\n")
    with pytest.raises(Refused, match="changed while this was decided"):
        await here.space.run("sudo bash clean.sh", timeout=10)
    assert here.is_unharmed


async def test_a_lasting_yes_to_a_script_is_for_what_is_in_it(bench: Open) -> None:
    answers = [Grant(scope="always"), Grant(scope="always")]

    async def always(_question: Question) -> Answer:
        return answers.pop()

    here = bench(always)
    (here.root / "clean.sh").write_text("true\n")
    for _ in range(2):
        await here.space.run("sudo bash clean.sh; true", timeout=10)
    (here.root / "clean.sh").write_text("true # and more\n")
    await here.space.run("sudo bash clean.sh; true", timeout=10)
    assert len(here.asked) == 2


SWAP: Final = """
while true; do
  printf 'rm -rf plans\\n' > other; mv other clean.sh
  printf 'true\\n' > other; mv other clean.sh
done
"""


async def test_a_script_that_a_process_of_the_session_swaps_runs_by_no_earlier_yes(bench: Open) -> None:
    answers: list[Answer] = [Grant(scope="always")]

    async def first(_question: Question) -> Answer:
        return answers.pop() if answers else Deny()

    here = bench(first)
    (here.root / "clean.sh").write_text("true\n")
    await here.space.run("sudo bash clean.sh; true", timeout=10)
    swapper = await here.space.start(SWAP)
    for _ in range(1_000):  # until it is at work
        if "rm" in (here.root / "clean.sh").read_text():
            break
        await anyio.sleep(0.01)
    for _ in range(10):
        with pytest.raises(Refused, match="a process that this session started still runs"):
            await here.space.run("sudo bash clean.sh; true", timeout=10)
    await here.space.processes.kill(swapper.id)
    (here.root / "clean.sh").write_text("true\n")
    await here.space.run("sudo bash clean.sh; true", timeout=10)
    offers = [bool(one.always_pattern) for one in here.asked if isinstance(one, Approve)]
    assert (offers, here.is_unharmed) == ([True] + [False] * 10, True)


async def test_what_a_command_left_running_counts_as_well(bench: Open) -> None:
    async def always(_question: Question) -> Answer:
        return Grant(scope="always")

    here = bench(always)
    (here.root / "clean.sh").write_text("true\n")
    await here.space.run("sudo bash clean.sh; true", timeout=10)
    left = await here.space.run("setsid sleep 60 >/dev/null 2>&1 & echo $!; sleep 0.2", timeout=10)
    await here.space.run("sudo bash clean.sh; true", timeout=10)
    await here.space.run(f"kill {left.text.split()[0]}", timeout=10)
    asked = [one.command for one in here.asked if isinstance(one, Approve)]
    assert asked[:2] == ["sudo bash clean.sh; true"] * 2


async def test_a_yes_does_not_count_when_a_link_leads_elsewhere_by_then(bench: Open) -> None:
    async def swap(_question: Question) -> Answer:
        (here.root / "way").unlink()
        (here.root / "way").symlink_to(here.root / "plans")
        return Grant()

    here = bench(swap)
    (here.root / "way").symlink_to(here.root.parent / "outside")
    with pytest.raises(Refused, match="changed while this was decided"):
        await here.space.write("way/one.txt", b"x")
    assert here.is_unharmed


async def test_answers_that_come_in_another_order_stay_with_their_questions(bench: Open) -> None:
    async def only_second(question: Question) -> Answer:
        await anyio.sleep(0.2 if isinstance(question, Approve) and "plans" in question.command else 0)
        return Grant() if isinstance(question, Approve) and "other" in question.command else Deny()

    here = bench(only_second)
    (here.root / "other").mkdir()
    async with anyio.create_task_group() as group:

        async def first() -> None:
            with pytest.raises(Refused):
                await here.space.start(DELETE)

        group.start_soon(first)
        await here.space.start("rm -rf other")
    await anyio.sleep(0.3)
    assert (here.is_unharmed, (here.root / "other").exists()) == (True, False)


def test_a_digest_is_of_everything_that_an_answer_is_about() -> None:
    base = Command(command="x", cwd="/", environment="e")
    others = [
        Command(command="x ", cwd="/", environment="e"),
        Command(command="x", cwd="/a", environment="e"),
        Command(command="x", cwd="/", environment="f"),
        Command(command="x", cwd="/", environment="e", background=True),
        Command(command="x", cwd="/", environment="e", pty=True),
    ]
    digests = [digest_of(one, holder="s1 cli") for one in [base, *others]] + [
        digest_of(base, holder=one) for one in ("s2 cli", "s1 api")
    ]
    assert len(set(digests)) == len(digests)


async def test_a_question_names_what_its_answer_is_about(bench: Open) -> None:
    here = bench(yes)
    action = Command(command=DELETE, cwd=str(here.root), environment="e")
    await here.gate.authorize(action)
    await here.gate.authorize(action)
    (first, second) = [one.digest for one in here.asked if isinstance(one, Approve)]
    assert first == second == digest_of(action, holder="session 1 cli")


PADDED: Final = "ls" + " " * 10_000 + ";" + "\n" * 300 + "rm -rf plans \x1b[8m\u202e"


async def test_the_whole_command_is_asked_about_and_shown(bench: Open) -> None:
    here = bench()
    with pytest.raises(Refused):
        await here.space.run(PADDED, timeout=10)
    (question,) = here.asked
    assert isinstance(question, Approve)
    assert question.command == PADDED
    box = Box(id="1", question=question, opened=0.0)
    shown = "\n".join(plain(row) for row in box_lines(box, 80, 40))
    for part in ("ls ⟨10000 spaces⟩ ;", "⟨300 empty lines⟩", "rm -rf plans ⟨U+001B⟩[8m⟨U+202E⟩"):
        assert part in shown


def test_enter_alone_is_no() -> None:
    question = Approve(command=DELETE, cwd="/w", reasons=(), rule="", session_pattern="a", always_pattern="b")
    box = Box(id="1", question=question, opened=0.0)
    box.key("enter", STILL * 2, draft=False)
    box.due(STILL * 2 + BURST)
    assert box.answer == Deny()


async def test_a_refusal_says_what_may_be_done_instead(tmp_path: Path) -> None:
    async def nobody(_question: Question) -> Answer:
        return Deny(reason="Use /tmp")

    gate = ApprovalGate(
        policy=Policy(workspace=str(tmp_path), home="/home/user", hermes_home="/h"),
        ask=nobody,
        save=lambda _: None,
        ports=SYSTEM_PORTS,
    )
    with pytest.raises(Refused) as refused:
        await gate.authorize(Command(command="echo x > /etc/hosts", cwd=str(tmp_path)))
    told = "it writes to /etc/hosts, outside the workspace"
    instead = "Instead: work inside the workspace or in the session's own /tmp."
    assert str(refused.value) == f"The user did not allow this ({told}). They said: Use /tmp. {instead}"
    gate.attended = False
    with pytest.raises(Refused) as refused:
        await gate.authorize(Command(command="echo x > /etc/hosts", cwd=str(tmp_path)))
    assert str(refused.value) == f"Nobody can be asked here, so this did not run: {told}. {instead}"


@pytest.mark.parametrize(
    "parts",
    [
        ["rm -rf plans\n"],
        ["rm -rf pl", "ans\n"],
        ["go() { rm -rf plans; }\n", "go\n"],
        ["cd .\nrm -rf plans\n"],
    ],
)
async def test_what_a_shell_in_the_background_is_given_is_decided_as_a_command_is(
    bench: Open, parts: list[str]
) -> None:
    async def no(_question: Question) -> Answer:
        return Deny()

    here = bench(no)
    started = await here.space.start("bash")
    await here.space.processes.write(started.id, "echo fine\n")

    async def type_all() -> None:
        for part in parts:
            await here.space.processes.write(started.id, part)

    with pytest.raises(Refused, match="did not allow this"):
        await type_all()
    await here.space.processes.kill(started.id)
    assert (len(here.asked), here.is_unharmed) == (1, True)
