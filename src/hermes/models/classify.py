"""From an exception to a Failure: ordered rules, one place. The ladder reads the flags and never looks at an error again."""

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import httpx2

from hermes.models.reasons import reasons
from hermes.models.said import Said, one_line, reset_at, said, window_in
from hermes.models.transports.base import BadReplyError, CutShortError, WireError
from hermes.types.error import Failure, Reason
from hermes.types.request import Endpoint

CROWDED = 0.6
"""A connection that breaks while the prompt fills more than this share of the window is taken for an overflow."""

Kind = Literal["status", "wire", "stall", "transport", "tls", "bad", "other"]


class StatusError(Exception):
    """The server answered with an HTTP error, or pointed elsewhere: a key is not sent on to an address that nobody wrote down."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(f"HTTP {status}")
        self.status, self.headers, self.body = status, headers, body


class StalledError(Exception):
    """Nothing of the reply came for longer than is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What the rules look at: `status` is 0 without one; `crowded` says that the prompt fills most of the window."""

    kind: Kind
    given: Said
    status: int = 0
    reset_at: float | None = None
    crowded: bool = False

    def says(self, reason: Reason) -> bool:
        """Whether the provider used words that tell this reason."""
        return self.certainly(reason) or any(phrase in self.given.whole for phrase in reasons()[reason].phrases)

    def certainly(self, reason: Reason) -> bool:
        """Whether it used words that tell this reason whatever else it said."""
        return any(phrase in self.given.whole for phrase in reasons()[reason].certain)

    @property
    def refused(self) -> bool:
        """Whether the server looked at the request and did not take it, now or ever."""
        return self.kind == "wire" or 400 <= self.status < 600


def classify(error: Exception, endpoint: Endpoint, size: int, *, now: float) -> Failure:
    """What went wrong and what may be done about it.

    `size` is the prompt in tokens as far as known, 0 once the reply had begun; `now` is in epoch seconds, for reset times.
    """
    fault = _fault(error, crowded=size > CROWDED * endpoint.context_window, now=now)
    reason = next(reason for reason, holds in RULES if holds(fault))
    entry = reasons()[reason]
    guessed = reason == "context_overflow" and fault.kind == "transport"
    return Failure(
        reason=reason,
        message=one_line(fault.given.message) or entry.meaning,
        status=fault.status or None,
        address=endpoint.base_url,
        retryable=entry.retryable or guessed,
        rotate=entry.rotate,
        fall_back=entry.fall_back,
        compress=entry.compress,
        shared="across all" in fault.given.whole or "account-wide" in fault.given.whole,
        leave_out=entry.leave_out or (_named_part(fault) if reason == "parameter" else ""),
        reset_at=fault.reset_at,
        window=window_in(fault.given) if reason == "context_overflow" else 0,
    )


def _fault(error: Exception, *, crowded: bool, now: float) -> Fault:
    match error:
        case StatusError():
            given = said(error.body, error.headers.get("x-amzn-errortype", ""))
            given = given if given.message else replace(given, message=_bare(error))
            return Fault(kind="status", given=given, status=error.status, reset_at=reset_at(given, error.headers, now))
        case WireError():
            given = Said(message=str(error), code=error.code, whole=f"{error.code} {error}".lower())
            return Fault(kind="wire", given=given, status=error.status or 0, reset_at=reset_at(given, {}, now))
        case BadReplyError() | httpx2.DecodingError():
            return Fault(kind="bad", given=_words(error))
        case StalledError() | TimeoutError() | httpx2.TimeoutException():
            return Fault(kind="stall", given=_words(error))
        case CutShortError() | httpx2.RequestError() | httpx2.InvalidURL():
            return Fault(kind="tls" if _tls_fault(error) else "transport", given=_words(error), crowded=crowded and _is_disconnect(error))
        case _:
            return Fault(kind="other", given=Said(message=f"{type(error).__name__}: {error}"))


def _bare(error: StatusError) -> str:
    elsewhere = error.headers.get("location", "")
    if error.status < 400 and elsewhere:
        return f"HTTP {error.status}: this address points to {elsewhere}; put the right one into base_url."
    return f"HTTP {error.status}"


def _words(error: Exception) -> Said:
    tls = _tls_fault(error)
    text = str(tls or error) or type(error).__name__
    if isinstance(error, httpx2.ConnectError) and tls is None:
        text = "the server cannot be reached"
    return Said(message=text, whole=text.lower())


def _is_disconnect(error: Exception) -> bool:
    return isinstance(error, httpx2.RemoteProtocolError | httpx2.ReadError | httpx2.WriteError)


def _tls_fault(error: BaseException) -> BaseException | None:
    """The fault that lies in TLS; the library wraps it, and not every event loop repeats its words, so the causes are looked at as well."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError) or "ssl" in str(cause).lower() or "tls" in str(cause).lower():
            return cause
        cause = cause.__cause__ or cause.__context__
    return None


# ---------------------------------------------------------------------------------------------------------- the predicates


def _certainly(reason: Reason) -> Callable[[Fault], bool]:
    return lambda fault: fault.refused and fault.certainly(reason)


def _certain_part(fault: Fault) -> bool:
    return fault.refused and fault.certainly("parameter") and bool(_named_part(fault))


def _bad_call(fault: Fault) -> bool:
    """The server looked for a tool call in what the model wrote, and found a broken one."""
    return fault.refused and fault.says("bad_reply")


def _bad_certificate(fault: Fault) -> bool:
    return fault.kind == "tls" and fault.says("certificate")


def _transport_security(fault: Fault) -> bool:
    return fault.kind == "tls"


def _dropped_while_crowded(fault: Fault) -> bool:
    return fault.kind == "transport" and fault.crowded


def _refused_reasoning(fault: Fault) -> bool:
    return fault.refused and fault.status in {0, 400, 422} and fault.says("thinking_signature")


def _refused_grammar(fault: Fault) -> bool:
    return fault.refused and fault.status in {0, 400, 422, 500} and fault.says("llama_cpp_grammar_pattern")


def _refused_long_window(fault: Fault) -> bool:
    return fault.status in {400, 403, 429} and fault.says("long_context_tier")


def _refused_tool_images(fault: Fault) -> bool:
    return fault.status in {400, 422} and fault.says("tool_images")


def _large_image(fault: Fault) -> bool:
    return fault.status in {0, 400, 413, 422} and fault.refused and fault.says("image_too_large")


def _provider_policy(fault: Fault) -> bool:
    return fault.status in {0, 400, 403, 404, 451} and fault.refused and fault.says("provider_policy_blocked")


def _content_policy(fault: Fault) -> bool:
    return fault.status in {0, 400, 403, 422, 451} and fault.refused and fault.says("content_policy_blocked")


def _quota_that_comes_back(fault: Fault) -> bool:
    """402 is used for both: a limit that resets is a rate limit, an empty account is not."""
    return fault.status == 402 and (fault.reset_at is not None or (fault.says("rate_limit") and not fault.says("billing")))


def _empty_account(fault: Fault) -> bool:
    if fault.status == 402:
        return True
    return fault.refused and fault.says("billing") and fault.reset_at is None


def _request_too_large(fault: Fault) -> bool:
    return fault.status == 413 or (fault.refused and fault.status in {0, 400, 429} and fault.says("payload_too_large"))


def _overflow(fault: Fault) -> bool:
    return fault.refused and fault.status not in {401, 402, 403, 429} and fault.says("context_overflow")


def _overflow_in_a_limit(fault: Fault) -> bool:
    """Some servers answer 429 to a prompt that is simply too long."""
    return fault.status == 429 and fault.says("context_overflow") and not fault.says("rate_limit")


def _gone_account(fault: Fault) -> bool:
    return fault.refused and fault.status in {0, 400, 401, 403} and fault.says("auth_permanent")


def _too_busy(fault: Fault) -> bool:
    if fault.status in {503, 529}:
        return not fault.says("rate_limit") or fault.says("overloaded")
    return fault.refused and fault.status not in {401, 403, 404} and fault.says("overloaded")


def _too_many(fault: Fault) -> bool:
    if fault.status == 429:
        return True
    return fault.refused and fault.status not in {401, 404} and fault.says("rate_limit")


def _model_missing(fault: Fault) -> bool:
    if fault.status in {404, 410}:
        return True
    return fault.refused and fault.status in {0, 400, 403, 422} and fault.says("model_not_found")


def _key_refused(fault: Fault) -> bool:
    if fault.status in {401, 403}:
        return True
    return fault.refused and fault.status in {0, 400} and fault.says("auth")


def _parameter_refused(fault: Fault) -> bool:
    return fault.status in {400, 422} and fault.says("parameter") and bool(_named_part(fault))


def _named_part(fault: Fault) -> str:
    """What a request can do without, by the parameter that the sentence names."""
    names = reasons()["parameter"].names
    return next((part for name, part in names.items() if name in fault.given.whole), "")


def _late(fault: Fault) -> bool:
    if fault.kind == "stall" or fault.status in {408, 499, 504, 522, 524}:
        return True
    return fault.refused and (fault.status == 0 or fault.status >= 500) and fault.says("timeout")


def _broken_server(fault: Fault) -> bool:
    return fault.status >= 500 or (fault.kind == "wire" and (fault.status == 0 or fault.says("server_error")))


RULES: tuple[tuple[Reason, Callable[[Fault], bool]], ...] = (
    # transport security comes before everything that looks at a broken connection: it is never an overflow
    ("certificate", _bad_certificate),
    ("connection", _transport_security),
    # words that leave no doubt, whatever the status
    ("billing", _certainly("billing")),
    ("rate_limit", _certainly("rate_limit")),
    ("model_not_found", _certainly("model_not_found")),
    ("parameter", _certain_part),
    ("server_error", _certainly("server_error")),
    ("bad_reply", _bad_call),
    # what only one kind of provider says
    ("thinking_signature", _refused_reasoning),
    ("llama_cpp_grammar_pattern", _refused_grammar),
    ("long_context_tier", _refused_long_window),
    ("tool_images", _refused_tool_images),
    ("image_too_large", _large_image),
    ("provider_policy_blocked", _provider_policy),
    ("content_policy_blocked", _content_policy),
    # the status, with the words: neither is enough alone
    ("rate_limit", _quota_that_comes_back),
    ("billing", _empty_account),
    ("context_overflow", _overflow),
    ("context_overflow", _overflow_in_a_limit),
    ("payload_too_large", _request_too_large),
    ("auth_permanent", _gone_account),
    ("overloaded", _too_busy),
    ("rate_limit", _too_many),
    ("model_not_found", _model_missing),
    ("auth", _key_refused),
    ("parameter", _parameter_refused),
    ("timeout", _late),
    ("server_error", _broken_server),
    ("format_error", lambda fault: fault.status >= 300),
    # no answer at all
    ("bad_reply", lambda fault: fault.kind == "bad"),
    ("context_overflow", _dropped_while_crowded),
    ("connection", lambda fault: fault.kind == "transport"),
    ("unknown", lambda _: True),
)
"""The first that holds counts."""
