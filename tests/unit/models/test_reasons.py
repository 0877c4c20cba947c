import httpx2
import pytest

from hermes.models.errors.classify import classify
from hermes.models.reliability.recovery import delays
from hermes.models.transports.base import CutShortError, StalledError, StatusError, WireError
from hermes.types.error import Failure
from hermes.types.request import Endpoint

HERE = Endpoint(provider="custom", base_url="http://h", model="m")


def status(code: int, body: str = "", **headers: str) -> StatusError:
    return StatusError(
        code, {name.replace("_", "-"): value for name, value in headers.items()}, body.encode()
    )


@pytest.mark.parametrize(
    ("error", "reason", "retryable", "message"),
    [
        (status(401, '{"error": {"message": "Invalid key"}}'), "auth", False, "Invalid key"),
        (status(403, '{"message": "no access"}'), "auth", False, "no access"),
        (status(402, '{"error": "Insufficient credits"}'), "billing", False, "Insufficient credits"),
        (status(404, '{"error": {"message": "model x not found"}}'), "model_not_found", False, "model x not found"),
        (status(400, '{"error": {"message": "This model\'s maximum context length is 8192"}}'), "context_overflow", False, "This model's maximum context length is 8192"),
        (status(400, '[{"error": {"message": "bad field"}}]'), "format_error", False, "bad field"),
        (status(413), "payload_too_large", False, "HTTP 413"),
        (status(429, "slow down"), "rate_limit", True, "slow down"),
        (status(429, '{"error": {"message": "You exceeded your quota: insufficient_quota"}}'), "billing", False, "You exceeded your quota: insufficient_quota"),
        (status(500, "<html>oops</html>"), "server_error", True, "HTTP 500"),
        (status(502), "server_error", True, "HTTP 502"),
        (status(503), "overloaded", True, "HTTP 503"),
        (status(529), "overloaded", True, "HTTP 529"),
        (status(504), "timeout", True, "HTTP 504"),
        (WireError("Overloaded"), "overloaded", True, "Overloaded"),
        (WireError("rate limit reached"), "rate_limit", True, "rate limit reached"),
        (WireError("boom", status=503), "overloaded", True, "boom"),
        (WireError("strange"), "server_error", True, "strange"),
        (StalledError("no byte came in time"), "timeout", True, "no byte came in time"),
        (httpx2.ReadTimeout("slow"), "timeout", True, "slow"),
        (httpx2.ConnectError("refused"), "connection", True, "the server cannot be reached"),
        (CutShortError("The stream ended"), "cut_short", True, "The stream ended"),
        (ValueError("odd"), "unknown", True, "ValueError: odd"),
    ],
)  # fmt: skip
def test_each_fault_has_its_reason(error: Exception, reason: str, retryable: bool, message: str) -> None:
    failure = classify(error, HERE, 0, now=0.0)
    assert (failure.reason, failure.retryable, failure.message, failure.address) == (
        reason,
        retryable,
        message,
        "http://h",
    )


@pytest.mark.parametrize(
    ("headers", "reset"),
    [
        ({"retry_after": "20"}, 1020.0),
        ({"retry_after": "1.5"}, 1001.5),
        ({"retry_after_ms": "250"}, 1000.25),
        ({"retry_after": "Thu, 01 Jan 1970 00:20:00 GMT"}, 1200.0),
        ({"retry_after": "soon"}, None),
        ({}, None),
    ],
)
def test_the_provider_s_own_time_is_honoured(headers: dict[str, str], reset: float | None) -> None:
    assert classify(status(429, **headers), HERE, 0, now=1000.0).reset_at == reset


def test_flags_say_what_may_be_done() -> None:
    assert classify(status(401), HERE, 0, now=0.0) == Failure(
        address="http://h", reason="auth", message="HTTP 401", status=401, rotate=True, fall_back=True
    )
    overflow = classify(status(400, "prompt is too long"), HERE, 0, now=0.0)
    assert (overflow.compress, overflow.fall_back, overflow.retryable) == (True, False, False)


def test_pauses_double_up_to_two_minutes_and_are_longer_by_up_to_a_half() -> None:
    lowest = delays(lambda low, high: low)
    assert [next(lowest) for _ in range(7)] == [5.0, 10.0, 20.0, 40.0, 80.0, 120.0, 120.0]
    highest = delays(lambda low, high: high)
    assert [next(highest) for _ in range(7)] == [7.5, 15.0, 30.0, 60.0, 120.0, 180.0, 180.0]
