"""What providers say when they refuse, and what it means: a table of answers as they write them."""

import ssl
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

import httpx2
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.models.errors.classify import CROWDED, classify, reasons
from hermes.models.transports.base import (
    BadReplyError,
    CutShortError,
    StalledError,
    StatusError,
    WireError,
)
from hermes.types.error import Failure, Reason
from hermes.types.request import Endpoint

NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z
HERE = Endpoint(provider="custom", base_url="http://h", model="m", context_window=1000)
FULL = int(CROWDED * HERE.context_window) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """An answer, and what it must be taken for; `wait` is in seconds from now."""

    sender: str = field(metadata={"name": "from"})
    status: int
    reason: Reason
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    code: str = ""
    message: str = ""
    wait: float | None = None
    window: int = 0
    leave_out: str = ""
    shared: bool = False
    says: str | None = None

    @property
    def error(self) -> Exception:
        if self.message:
            return WireError(self.message, status=self.status or None, code=self.code)
        return StatusError(self.status, httpx2.Headers(self.headers), self.body.encode())


def rows(path: Path) -> list[Row]:
    given = tomllib.loads(path.read_text(encoding="utf-8"))["rows"]
    return [
        msgspec.convert(
            {("sender" if name == "from" else name): value for name, value in one.items()}, Row, strict=True
        )
        for one in given
    ]


TABLE = [
    (path.stem, row)
    for path in sorted((Path(__file__).parent / "errors").glob("*.toml"))
    for row in rows(path)
]


def told(failure: Failure) -> tuple[object, ...]:
    wait = None if failure.reset_at is None else round(failure.reset_at - NOW, 3)
    return failure.reason, wait, failure.window, failure.leave_out, failure.shared


@pytest.mark.parametrize("row", [pytest.param(row, id=f"{name}: {row.sender}") for name, row in TABLE])
def test_an_answer_is_taken_for_what_its_provider_means(row: Row) -> None:
    failure = classify(row.error, HERE, 0, now=NOW)
    assert told(failure) == (row.reason, row.wait, row.window, row.leave_out, row.shared), failure
    assert failure.message == row.says if row.says is not None else failure.message
    entry = reasons()[row.reason]
    flags = (failure.retryable, failure.rotate, failure.fall_back, failure.compress)
    assert flags == (entry.retryable, entry.rotate, entry.fall_back, entry.compress)
    assert failure.status == (row.status or None)


def test_the_table_has_two_hundred_rows_no_name_twice_and_every_reason_that_an_answer_can_have() -> None:
    assert len(TABLE) >= 200
    names = [(file, row.sender) for file, row in TABLE]
    assert len(names) == len(set(names))
    without_answer = {
        "connection",
        "connection_refused",
        "cut_short",
        "empty_reply",
        "certificate",
        "budget",
        "plugin_failed",
        "unknown",
    }
    assert {row.reason for _, row in TABLE} == set(get_args(Reason)) - without_answer


def wrapped(inner: Exception, outer: type[httpx2.RequestError] = httpx2.ConnectError) -> Exception:
    """As the client raises it: the library's own error, caused by the one of the layer below."""
    error = outer(str(inner))
    error.__cause__ = inner
    return error


def wordless(inner: Exception) -> Exception:
    """As it comes through an event loop that does not repeat the words."""
    error = httpx2.ConnectError("")
    error.__cause__ = wrapped(inner)
    return error


CERTIFICATE = ssl.SSLCertVerificationError(
    1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate"
)
ALERT = ssl.SSLError(1, "[SSL: SSLV3_ALERT_BAD_RECORD_MAC] ssl/tls alert bad record mac")


@pytest.mark.parametrize(
    ("error", "size", "reason", "retryable", "compress", "message"),
    [
        (httpx2.ConnectError("[Errno 111] Connection refused"), 0, "connection", True, False, "the server cannot be reached"),
        (httpx2.ConnectError("[Errno -2] Name or service not known"), FULL, "connection", True, False, "the server cannot be reached"),
        (httpx2.ProxyError("403 Forbidden"), 0, "connection", True, False, "403 Forbidden"),
        (httpx2.UnsupportedProtocol("no scheme"), 0, "connection", True, False, "no scheme"),
        (httpx2.InvalidURL("no host"), 0, "connection", True, False, "no host"),
        (httpx2.TooManyRedirects("in a circle"), 0, "connection", True, False, "in a circle"),
        (httpx2.ReadError("reset by peer"), 0, "connection", True, False, "reset by peer"),
        (httpx2.ReadError("reset by peer"), FULL - 1, "connection", True, False, "reset by peer"),
        (httpx2.ReadError("reset by peer"), FULL, "context_overflow", True, True, "reset by peer"),
        (httpx2.RemoteProtocolError("server disconnected"), FULL, "context_overflow", True, True, "server disconnected"),
        (httpx2.WriteError("broken pipe"), FULL, "context_overflow", True, True, "broken pipe"),
        (CutShortError("the stream ended"), FULL, "cut_short", True, False, "the stream ended"),
        (httpx2.ConnectTimeout("slow"), FULL, "timeout", True, False, "slow"),
        (httpx2.ReadTimeout("slow"), FULL, "timeout", True, False, "slow"),
        (httpx2.PoolTimeout("slow"), 0, "timeout", True, False, "slow"),
        (StalledError("nothing came"), FULL, "timeout", True, False, "nothing came"),
        (TimeoutError(), 0, "timeout", True, False, "TimeoutError"),
        (BadReplyError("not JSON"), 0, "bad_reply", True, False, "not JSON"),
        (httpx2.DecodingError("incorrect header check"), 0, "bad_reply", True, False, "incorrect header check"),
        (wrapped(CERTIFICATE), 0, "certificate", False, False, str(CERTIFICATE)),
        (wordless(CERTIFICATE), 0, "certificate", False, False, str(CERTIFICATE)),
        (wrapped(ALERT), 0, "connection", True, False, str(ALERT)),
        (wrapped(ALERT, httpx2.ReadError), FULL, "connection", True, False, str(ALERT)),
        (wrapped(ssl.SSLEOFError(8, "EOF occurred in violation of protocol"), httpx2.ReadError), FULL, "connection", True, False, "EOF occurred in violation of protocol"),
        (ValueError("odd"), FULL, "unknown", True, False, "ValueError: odd"),
    ],
)  # fmt: skip
def test_what_breaks_below_an_answer_has_its_reason(
    error: Exception, size: int, reason: str, retryable: bool, compress: bool, message: str
) -> None:
    failure = classify(error, HERE, size, now=NOW)
    assert (failure.reason, failure.retryable, failure.compress, failure.message) == (
        reason,
        retryable,
        compress,
        message,
    )


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "[::1]", "localhost"])
def test_where_no_program_listens_on_this_machine_that_is_the_reason(host: str) -> None:
    here = replace(HERE, base_url=f"http://{host}:11434/v1")
    refused = httpx2.ConnectError("All connection attempts failed")
    assert classify(refused, here, FULL, now=NOW) == Failure(
        reason="connection_refused",
        message=f"nothing listens at {host}:11434: start the model server, or correct the address",
        address=here.base_url,
        retryable=True,
        fall_back=True,
    )
    assert classify(wrapped(CERTIFICATE), here, 0, now=NOW).reason == "certificate"
    assert classify(refused, replace(here, local=True), 0, now=NOW).reason == "connection"
    signed = replace(here, base_url=f"http://me:secret@{host}:11434/v1")
    assert "secret" not in classify(refused, signed, 0, now=NOW).message


def check(failure: Failure) -> None:
    assert failure.reason in get_args(Reason)
    assert 0 < len(failure.message) <= 510
    assert all(letter.isprintable() for letter in failure.message), failure.message
    assert failure.reset_at is None or -1e12 < failure.reset_at < 1e12


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["error", "message", "metadata", "raw", "code", "detail", "resets_at", "retryDelay", "retry_after", "x"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
TEXT_OF_TIME = st.sampled_from(
    [
        "",
        "soon",
        "-1",
        "1e999",
        "9" * 400,
        "²",
        "Mon, 99 Foo 2026",
        "nan",
        "0001-01-01T00:00:00",
        "9999-12-31",
    ]
) | st.text(max_size=20)


@given(status=st.integers(100, 999), body=st.binary(max_size=300))
def test_no_bytes_break_it(status: int, body: bytes) -> None:
    check(classify(StatusError(status, {}, body), HERE, 0, now=NOW))


@given(status=st.sampled_from([200, 302, 400, 402, 429, 500, 503]), tree=JSON, after=TEXT_OF_TIME)
def test_no_tree_and_no_header_break_it(status: int, tree: object, after: str) -> None:
    body = msgspec.json.encode(tree) if not _wild(tree) else repr(tree).encode("utf-8", "replace")
    check(
        classify(
            StatusError(
                status, {"retry-after": after, "retry-after-ms": after, "x-ratelimit-reset": after}, body
            ),
            HERE,
            0,
            now=NOW,
        )
    )


def _wild(tree: object) -> bool:
    """Whether the encoder would refuse it."""
    try:
        msgspec.json.encode(tree)
    except (ValueError, OverflowError, UnicodeEncodeError):
        return True
    return False


@given(message=st.text(max_size=700), code=st.text(max_size=10), status=st.none() | st.integers(0, 999))
def test_no_words_in_a_stream_break_it(message: str, code: str, status: int | None) -> None:
    check(classify(WireError(message, status=status, code=code), HERE, 0, now=NOW))


def test_deep_nesting_and_broken_text_are_survived() -> None:
    check(classify(StatusError(500, {}, b"[" * 50_000), HERE, 0, now=NOW))
    check(classify(StatusError(500, {}, b'{"error":' * 400 + b"1" + b"}" * 400), HERE, 0, now=NOW))
    check(classify(StatusError(400, {}, b'\xff\xfe{"error": "\xc3\x28"}'), HERE, 0, now=NOW))
    check(classify(StatusError(400, {}, b'{"error": "one\\u0000two\\u001b[31m\\nthree"}'), HERE, 0, now=NOW))
