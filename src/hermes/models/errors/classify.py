"""From an exception to a Failure: ordered rules, one place; reasons, flags and words are data.

The executor reads the flags and never looks at an error again.
"""

import ssl
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, Literal, get_args
from urllib.parse import urlsplit

import httpx2
import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from hermes.lib.data_files import data_table
from hermes.lib.hosts import is_loopback
from hermes.models.errors.body import ErrorBody, one_line, parse_error_body, reset_at, window_in
from hermes.models.transports.base import (
    BadReplyError,
    CutShortError,
    StalledError,
    StatusError,
    UnshapedError,
    WireError,
)
from hermes.types.error import Failure, Reason
from hermes.types.message import Assistant
from hermes.types.request import Endpoint
from hermes.types.usage import Stop


class ReasonEntry(Struct, frozen=True, kw_only=True):
    """One reason: the flags of its Failure, a sentence for a person, the words that tell it, and names of
    parts a request can lack.

    `certain` are words that tell it whatever the status is and whatever else was said.
    """

    meaning: str
    phrases: tuple[str, ...] = ()
    certain: tuple[str, ...] = ()
    retryable: bool = False
    rotate: bool = False
    fall_back: bool = False
    compress: bool = False
    leave_out: str = ""
    names: Mapping[str, str] = field(default_factory=dict)


@cache
def reasons() -> Mapping[Reason, ReasonEntry]:
    """Every reason, in the order of the documentation."""
    tree = data_table("failures.toml")
    return {
        name: msgspec.convert(tree[name], ReasonEntry)
        for name in sorted(get_args(Reason), key=list(tree).index)
    }


def what_follows(entry: ReasonEntry) -> str:
    """What the executor does about a failure of this kind, in the order in which it tries."""
    steps = [
        f"once more without {entry.leave_out.replace('_', ' ')}"
        if entry.leave_out
        else "once more without it"
        if entry.names
        else "",
        "the next key" if entry.rotate else "",
        "a pause and the same again" if entry.retryable else "",
        "the turn makes room, else goes on with a model that has more"
        if entry.compress and not entry.fall_back
        else "the turn makes room"
        if entry.compress
        else "",
        "the next model" if entry.fall_back else "",
    ]
    return ", then ".join(filter(None, steps)) or "the turn ends"


CROWDED = 0.6
"""A connection that breaks while the prompt fills more than this share of the window is taken for an
overflow.
"""

Kind = Literal["status", "wire", "stall", "refused", "transport", "cut", "tls", "bad", "unshaped", "other"]


UNANSWERED: Mapping[Stop, Reason] = {
    "refusal": "content_policy_blocked",
    "error": "bad_reply",
    "repetition": "bad_reply",
}
"""What a reply without words and calls is that ended so; ended in any other way it is empty."""


_UNHEARD: Final = "nothing listens at {}: start the model server, or correct the address"


class RequestFault(Struct, frozen=True, kw_only=True):
    """What the rules look at: `status` is 0 without one; `crowded` says that the prompt fills most of the
    window.
    """

    kind: Kind
    given: ErrorBody
    status: int = 0
    reset_at: float | None = None
    crowded: bool = False

    def says(self, reason: Reason) -> bool:
        """Whether the provider used words that tell this reason."""
        return self.certainly(reason) or any(
            phrase in self.given.whole for phrase in reasons()[reason].phrases
        )

    def certainly(self, reason: Reason) -> bool:
        """Whether it used words that tell this reason whatever else it said."""
        return any(phrase in self.given.whole for phrase in reasons()[reason].certain)

    @property
    def refused(self) -> bool:
        """Whether the server looked at the request and did not take it, now or ever."""
        return self.kind == "wire" or 400 <= self.status < 600


def classify(error: Exception, endpoint: Endpoint, size: int, *, now: float) -> Failure:
    """What went wrong and what may be done about it.

    `size` is the prompt in tokens as far as known, 0 once the reply had begun; `now` is in epoch seconds, for
    reset times.
    """
    crowded = size > CROWDED * endpoint.context_window
    fault = _unheard(error, endpoint) or _fault(error, crowded=crowded, now=now)
    reason = next(reason for reason, holds in RULES if holds(fault))
    entry = reasons()[reason]
    guessed = reason == "context_overflow" and fault.kind in {"transport", "cut"}
    return Failure(
        reason=reason,
        message=one_line(fault.given.message) or entry.meaning,
        status=fault.status or None,
        address="" if fault.kind == "unshaped" else endpoint.base_url,
        retryable=entry.retryable or guessed,
        rotate=entry.rotate,
        fall_back=entry.fall_back,
        compress=entry.compress,
        shared="across all" in fault.given.whole or "account-wide" in fault.given.whole,
        leave_out=entry.leave_out or (_named_part(fault) if reason == "parameter" else ""),
        reset_at=fault.reset_at,
        window=window_in(fault.given) if reason == "context_overflow" else 0,
    )


def unanswered(reply: Assistant, endpoint: Endpoint) -> Failure:
    """What is wrong with a whole reply that has neither words nor calls: it is no answer."""
    reason = UNANSWERED.get(reply.stop, "empty_reply")
    entry = reasons()[reason]
    message = {
        "refusal": "The provider's filter ended the reply before its first word.",
        "error": "The provider ended the reply in an unknown way before its first word.",
        "repetition": "The model repeated itself on and on before the first word of an answer.",
        "length": (
            "The limit of the reply's length was used up before the first word of an answer; model.max_output"
            " raises it."
        ),
    }.get(
        reply.stop,
        "The model only reasoned and gave no answer." if reply.thinking else "The model gave an empty reply.",
    )
    return Failure(
        reason=reason,
        message=message,
        address=endpoint.base_url,
        retryable=entry.retryable,
        fall_back=entry.fall_back,
    )


def _unheard(error: Exception, endpoint: Endpoint) -> RequestFault | None:
    """The fault where this machine itself says that no program listens: there is no network that may fail.

    The built-in model is not the user's to start.
    """
    parts = urlsplit(endpoint.base_url)
    if not isinstance(error, httpx2.ConnectError) or _tls_fault(error) or endpoint.local:
        return None
    if not is_loopback(parts.hostname or ""):
        return None
    place = parts.netloc.rpartition("@")[2]
    return RequestFault(kind="refused", given=ErrorBody(message=_UNHEARD.format(place)))


def _fault(error: Exception, *, crowded: bool, now: float) -> RequestFault:
    match error:
        case StatusError():
            given = parse_error_body(error.body, error.headers.get("x-amzn-errortype", ""))
            given = given if given.message else replace(given, message=_bare(error))
            return RequestFault(
                kind="status", given=given, status=error.status, reset_at=reset_at(given, error.headers, now)
            )
        case WireError():
            given = ErrorBody(message=str(error), code=error.code, whole=f"{error.code} {error}".lower())
            return RequestFault(
                kind="wire", given=given, status=error.status or 0, reset_at=reset_at(given, {}, now)
            )
        case BadReplyError() | httpx2.DecodingError():
            return RequestFault(kind="bad", given=_words(error))
        case StalledError() | TimeoutError() | httpx2.TimeoutException():
            return RequestFault(kind="stall", given=_words(error))
        case CutShortError():
            return RequestFault(
                kind="tls" if _tls_fault(error) else "cut",
                given=_words(error),
                crowded=crowded and error.__cause__ is not None,
            )
        case httpx2.RequestError() | httpx2.InvalidURL():
            return RequestFault(
                kind="tls" if _tls_fault(error) else "transport",
                given=_words(error),
                crowded=crowded
                and isinstance(error, httpx2.RemoteProtocolError | httpx2.ReadError | httpx2.WriteError),
            )
        case UnshapedError():
            return RequestFault(kind="unshaped", given=ErrorBody(message=str(error)))
        case _:
            return RequestFault(kind="other", given=ErrorBody(message=f"{type(error).__name__}: {error}"))


def _bare(error: StatusError) -> str:
    elsewhere = error.headers.get("location", "")
    if error.status < 400 and elsewhere:
        return f"HTTP {error.status}: this address points to {elsewhere}; put the right one into base_url."
    return f"HTTP {error.status}"


def _words(error: Exception) -> ErrorBody:
    tls = _tls_fault(error)
    text = str(tls or error) or type(error).__name__
    if isinstance(error, httpx2.ConnectError) and tls is None:
        text = "the server cannot be reached"
    return ErrorBody(message=text, whole=text.lower())


def _tls_fault(error: BaseException) -> BaseException | None:
    """The fault that lies in TLS; the library wraps it, and not every event loop repeats its words, so the
    causes are looked at as well.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError) or "ssl" in str(cause).lower() or "tls" in str(cause).lower():
            return cause
        cause = cause.__cause__ or cause.__context__
    return None


# ----------------------------------------------------------------------------------------------------------
# the predicates


def _certainly(reason: Reason) -> Callable[[RequestFault], bool]:
    return lambda fault: fault.refused and fault.certainly(reason)


def _says(reason: Reason, *statuses: int) -> Callable[[RequestFault], bool]:
    """The words of the reason, with one of these statuses; 0 is an error within a reply that began well."""
    return lambda fault: fault.refused and fault.status in statuses and fault.says(reason)


def _says_but(reason: Reason, *statuses: int) -> Callable[[RequestFault], bool]:
    """The words of the reason, with any status but these."""
    return lambda fault: fault.refused and fault.status not in statuses and fault.says(reason)


def _named_part(fault: RequestFault) -> str:
    """What a request can do without, by the parameter that the sentence names."""
    names = reasons()["parameter"].names
    return next((part for name, part in names.items() if name in fault.given.whole), "")


RULES: tuple[tuple[Reason, Callable[[RequestFault], bool]], ...] = (
    # transport security comes before everything that looks at a broken connection: it is never an overflow
    ("certificate", lambda fault: fault.kind == "tls" and fault.says("certificate")),
    ("connection", lambda fault: fault.kind == "tls"),
    # nothing was sent: the server has no say in it
    ("plugin_failed", lambda fault: fault.kind == "unshaped"),
    # words that leave no doubt, whatever the status
    ("billing", _certainly("billing")),
    ("rate_limit", _certainly("rate_limit")),
    ("model_not_found", _certainly("model_not_found")),
    ("parameter", lambda fault: fault.refused and fault.certainly("parameter") and bool(_named_part(fault))),
    ("server_error", _certainly("server_error")),
    # the server looked for a tool call in what the model wrote, and found a broken one
    ("bad_reply", lambda fault: fault.refused and fault.says("bad_reply")),
    # what only one kind of provider says
    ("thinking_signature", _says("thinking_signature", 0, 400, 422)),
    ("llama_cpp_grammar_pattern", _says("llama_cpp_grammar_pattern", 0, 400, 422, 500)),
    ("long_context_tier", _says("long_context_tier", 400, 403, 429)),
    ("tool_images", _says("tool_images", 400, 422)),
    ("image_too_large", _says("image_too_large", 0, 400, 413, 422)),
    ("provider_policy_blocked", _says("provider_policy_blocked", 0, 400, 403, 404, 451)),
    ("content_policy_blocked", _says("content_policy_blocked", 0, 400, 403, 422, 451)),
    # the status, with the words: neither is enough alone
    # 402 is used for both: a limit that resets is a rate limit, an empty account is not
    (
        "rate_limit",
        lambda fault: (
            fault.status == 402
            and (fault.reset_at is not None or (fault.says("rate_limit") and not fault.says("billing")))
        ),
    ),
    (
        "billing",
        lambda fault: (
            fault.status == 402 or (fault.refused and fault.says("billing") and fault.reset_at is None)
        ),
    ),
    ("context_overflow", _says_but("context_overflow", 401, 402, 403, 429)),
    # some servers answer 429 to a prompt that is simply too long
    (
        "context_overflow",
        lambda fault: fault.status == 429 and fault.says("context_overflow") and not fault.says("rate_limit"),
    ),
    (
        "payload_too_large",
        lambda fault: (
            fault.status == 413
            or (fault.refused and fault.status in {0, 400, 429} and fault.says("payload_too_large"))
        ),
    ),
    ("auth_permanent", _says("auth_permanent", 0, 400, 401, 403)),
    (
        "overloaded",
        lambda fault: (
            (not fault.says("rate_limit") or fault.says("overloaded"))
            if fault.status in {503, 529}
            else _says_but("overloaded", 401, 403, 404)(fault)
        ),
    ),
    ("rate_limit", lambda fault: fault.status == 429 or _says_but("rate_limit", 401, 404)(fault)),
    (
        "model_not_found",
        lambda fault: fault.status in {404, 410} or _says("model_not_found", 0, 400, 403, 422)(fault),
    ),
    ("auth", lambda fault: fault.status in {401, 403} or _says("auth", 0, 400)(fault)),
    (
        "parameter",
        lambda fault: fault.status in {400, 422} and fault.says("parameter") and bool(_named_part(fault)),
    ),
    (
        "timeout",
        lambda fault: (
            fault.kind == "stall"
            or fault.status in {408, 499, 504, 522, 524}
            or (fault.refused and (fault.status == 0 or fault.status >= 500) and fault.says("timeout"))
        ),
    ),
    (
        "server_error",
        lambda fault: (
            fault.status >= 500
            or (fault.kind == "wire" and (fault.status == 0 or fault.says("server_error")))
        ),
    ),
    ("format_error", lambda fault: fault.status >= 300),
    # no answer at all
    ("bad_reply", lambda fault: fault.kind == "bad"),
    ("context_overflow", lambda fault: fault.kind in {"transport", "cut"} and fault.crowded),
    ("connection_refused", lambda fault: fault.kind == "refused"),
    ("connection", lambda fault: fault.kind == "transport"),
    ("cut_short", lambda fault: fault.kind == "cut"),
    ("unknown", lambda _: True),
)
"""The first that holds counts."""
