"""The filter of kernel calls, run step by step as the kernel does, for both architectures."""

import errno
import struct

import pytest

from hermes.environments.sandbox.seccomp import MACHINES, program

ALLOWED = 0x7FFF0000
KILLED = 0x80000000
ERROR = 0x00050000


def answer(machine: str, call: str | int, *arguments: int, audit: int = 0, tracing: bool = False) -> int:
    """What the filter says about a call."""
    known = MACHINES[machine]
    number = known.calls[call] if isinstance(call, str) else call
    data = struct.pack(
        "=II8xQQQQQQ", number & 0xFFFFFFFF, audit or known.audit, *arguments, *[0] * (6 - len(arguments))
    )
    steps = list(struct.iter_unpack("=HBBI", program(machine, tracing=tracing)))
    held, at = 0, 0
    while True:
        code, yes, no, value = steps[at]
        at += 1
        match code:
            case 0x20:
                held = struct.unpack_from("=I", data, value)[0]
            case 0x06:
                return int(value)
            case _:
                holds = {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[code]
                at += yes if holds else no


@pytest.fixture(params=sorted(MACHINES))
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_it_fits_into_the_kernel(machine: str) -> None:
    assert len(program(machine)) % 8 == 0
    assert len(program(machine)) // 8 < 4096


def test_every_named_call_is_refused_but_those_judged_by_their_arguments(machine: str) -> None:
    judged = {"clone", "socket", "ioctl", "personality"}
    refused = {name: answer(machine, name) for name in MACHINES[machine].calls if name not in judged}
    assert refused == {name: ERROR | (errno.ENOSYS if name == "clone3" else errno.EPERM) for name in refused}


def test_ordinary_calls_pass(machine: str) -> None:
    ordinary = {
        "x86_64": (0, 1, 2, 9, 56, 57, 59, 62, 257, 281),
        "aarch64": (56, 63, 64, 129, 220, 221, 222),
    }[machine]
    assert {answer(machine, number) for number in ordinary} == {ALLOWED}


@pytest.mark.parametrize(
    "flag", [0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000]
)
def test_clone_makes_threads_and_processes_and_no_namespace(machine: str, flag: int) -> None:
    assert answer(machine, "clone", 0x3D0F00) == ALLOWED
    assert answer(machine, "clone", 0x11) == ALLOWED
    assert answer(machine, "clone", flag | 0x11) == ERROR | errno.EPERM


def test_terminals_take_no_typing_whatever_stands_in_the_high_half(machine: str) -> None:
    assert [answer(machine, "ioctl", 0, request) for request in (0x5412, 0x541C, 0x100005412)] == [
        ERROR | errno.EPERM
    ] * 3
    assert answer(machine, "ioctl", 0, 0x5413) == ALLOWED


def test_sockets_are_of_the_usual_families(machine: str) -> None:
    assert {answer(machine, "socket", family, 1, 0) for family in (1, 2, 10)} == {ALLOWED}
    assert answer(machine, "socket", 16, 3, 0) == ALLOWED
    others = [(16, 15), (16, 9), (17, 0), (38, 0), (40, 0), (31, 0), (0, 0)]
    assert {answer(machine, "socket", family, 3, protocol) for family, protocol in others} == {
        ERROR | errno.EAFNOSUPPORT
    }


def test_a_fixed_layout_may_be_asked_for_and_nothing_odd(machine: str) -> None:
    assert {answer(machine, "personality", kind) for kind in (0, 0x40000, 0xFFFFFFFF)} == {ALLOWED}
    assert answer(machine, "personality", 0x0400000) == ERROR | errno.EPERM


def test_debuggers_work_where_they_may(machine: str) -> None:
    assert (answer(machine, "ptrace", tracing=True), answer(machine, "mount", tracing=True)) == (
        ALLOWED,
        ERROR | errno.EPERM,
    )


def test_the_numbers_of_another_architecture_are_the_end(machine: str) -> None:
    assert answer(machine, "ptrace", audit=0x40000003) == KILLED
    assert answer("x86_64", 0x40000000 + 101) == ERROR | errno.ENOSYS


def test_an_architecture_that_nobody_knows_has_no_filter() -> None:
    assert program("riscv64") == b""
