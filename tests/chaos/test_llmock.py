"""Turns with a server that others wrote to break clients; its own verdict is asked too."""

from collections.abc import Callable
from typing import Any

import anyio
import httpx2
import pytest
from llmock.pytest_plugin import LLMock

from tests.chaos.harness import Place, Trial
from tests.chaos.streams import ANTHROPIC, CHAT, RESPONSES, Wire

# The client library leaves its inner generator to the collector when a reader stops in the middle; the connection itself is closed.
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore:Exception ignored in. <async_generator object PoolByteStream"),
]
CALLED = ["mock-word"]
"""What this server makes up for a tool that takes a word."""
PATHS = {CHAT: "openai", RESPONSES: "openai", ANTHROPIC: "anthropic"}

Fault = Callable[[LLMock], LLMock]
PASSING: dict[str, Fault] = {
    "nothing": lambda server: server,
    "429 with a time": lambda server: server.rate_limit(times=2, retry_after=0.2),
    "500": lambda server: server.fail(500),
    "502 twice": lambda server: server.fail(502, times=2),
    "503": lambda server: server.fail(503),
    "529": lambda server: server.fail(529),
    "a cut connection": lambda server: server.disconnect(after_chunks=1),
    "a cut stream": lambda server: server.truncate(after_chunks=1),
    "a broken piece": lambda server: server.corrupt(after_chunks=1),
    "a stall": lambda server: server.stall(after_chunks=1, seconds=3.0),
    "a slow first token": lambda server: server.slow_first_token(3.0),
}
STAYING: dict[str, tuple[str, Callable[[LLMock, str], LLMock]]] = {
    "401": ("auth", lambda server, provider: server.fail(401, times=None, provider=provider)),
    "402": ("billing", lambda server, provider: server.fail(402, times=None, provider=provider)),
    "404": ("model_not_found", lambda server, provider: server.fail(404, times=None, provider=provider)),
    "an outage": ("overloaded", lambda server, provider: server.outage(provider=provider)),
    "429 for an hour": (
        "rate_limit",
        lambda server, provider: server.rate_limit(times=None, retry_after=3600.0, provider=provider),
    ),
    "an overflow": (
        "context_overflow",
        lambda server, provider: server.context_overflow(times=None, provider=provider),
    ),
    "cuts": (
        "cut_short",
        lambda server, provider: server.disconnect(after_chunks=1, times=None, provider=provider),
    ),
    "stalls": (
        "timeout",
        lambda server, provider: server.stall(after_chunks=1, seconds=3.0, times=None, provider=provider),
    ),
}


def at_length(wire: Wire) -> Any:
    """A case for --long."""
    return pytest.param(wire, marks=pytest.mark.slow)


def place(environ: dict[str, str], server: LLMock, wire: Wire, *, fallback: bool = False) -> Place:
    first = server.base_url(PATHS[wire])
    return Place(
        environ,
        http=httpx2.AsyncClient(),
        wire=wire,
        fallback=fallback,
        addresses={"one": first, "two": server.base_url("groq")},
    )


def asked(server: LLMock) -> int:
    return len([one for one in server.requests if one.method == "POST"])


async def hold(trial: Trial, server: LLMock) -> None:
    trial.hold_but_for_servers()
    with anyio.move_on_after(20):  # it writes a request down after its answer, and leaves out those that last
        while asked(server) < trial.used:  # noqa: ASYNC110  # another program tells it no other way
            await anyio.sleep(0.05)
    assert asked(server) == trial.used


@pytest.mark.parametrize("wire", [CHAT, *map(at_length, (ANTHROPIC, RESPONSES))], ids=lambda wire: wire.name)
@pytest.mark.parametrize("fault", PASSING)
async def test_a_fault_that_passes_is_got_over(
    environ: dict[str, str], llmock: LLMock, fault: str, wire: Wire
) -> None:
    PASSING[fault](llmock)
    trial = await place(environ, llmock, wire).turn()
    await hold(trial, llmock)
    assert (trial.end.outcome, trial.ran, trial.end.text != "") == ("done", CALLED, True)
    llmock.assert_resilient()


@pytest.mark.parametrize("wire", [CHAT, *map(at_length, (ANTHROPIC, RESPONSES))], ids=lambda wire: wire.name)
@pytest.mark.parametrize("fault", STAYING)
async def test_a_fault_that_stays_ends_in_one_failure(
    environ: dict[str, str], llmock: LLMock, fault: str, wire: Wire
) -> None:
    reason, put = STAYING[fault]
    put(llmock, PATHS[wire])
    trial = await place(environ, llmock, wire).turn()
    await hold(trial, llmock)
    assert trial.outcome == ("failed", reason, ())
    llmock.assert_resilient()


@pytest.mark.parametrize("wire", [CHAT, *map(at_length, (ANTHROPIC, RESPONSES))], ids=lambda wire: wire.name)
@pytest.mark.parametrize("fault", STAYING)
async def test_a_fault_that_stays_is_left_behind_for_another_provider(
    environ: dict[str, str], llmock: LLMock, fault: str, wire: Wire
) -> None:
    _, put = STAYING[fault]
    put(llmock, PATHS[wire])
    trial = await place(environ, llmock, wire, fallback=True).turn()
    await hold(trial, llmock)
    assert (trial.end.outcome, trial.ran, trial.end.text != "") == ("done", CALLED, True)
    llmock.assert_resilient()


@pytest.mark.parametrize("broken", ["malformed_arguments", "unknown_tool"])
async def test_a_broken_call_is_told_to_the_model_and_asked_for_again(
    environ: dict[str, str], llmock: LLMock, broken: str
) -> None:
    llmock.break_tool_call(broken)
    trial = await place(environ, llmock, CHAT).turn()
    await hold(trial, llmock)
    assert (trial.end.outcome, trial.results[0].failed, trial.ran in ([], CALLED)) == ("done", True, True)
