"""The error tree.

HermesError
  ConfigError          key, origin, hint
  ModelError           failure
    ContextOverflow    handled by the turn
    Exhausted          failures of every attempt
    BudgetSpent        no call may start
  ExecError            (also RuntimeError)
    EnvironmentUnavailable   with an install hint
    EnvironmentLost          while a command ran in it
    WorkspaceGone      (also OSError)
    CommandTimeout     (also TimeoutError)
  StoreError
    StorageDamaged     the file is there and cannot be read
    SessionOwned       a living process has the session
    UnknownSession     no session has that name, or several may be meant
  OutputInvalid        no answer of the form that was asked for
  SessionClosed        the session was closed, or its event loop has ended
  PluginError          plugin, phase
  SkillError           a skill that is not there, cannot be read or must not be written
  Refused              by policy or guardrail
    BeyondReading           a command that cannot be read to its end
    Outdated           may be tried again: something changed meanwhile

Interruption is cancellation, not an error. A tool's exception never leaves dispatch.
"""

from typing import Literal

from msgspec import Struct

Reason = Literal[
    "auth",
    "auth_permanent",
    "billing",
    "rate_limit",
    "overloaded",
    "server_error",
    "timeout",
    "connection",
    "connection_refused",
    "cut_short",
    "certificate",
    "bad_reply",
    "empty_reply",
    "context_overflow",
    "payload_too_large",
    "image_too_large",
    "model_not_found",
    "provider_policy_blocked",
    "content_policy_blocked",
    "format_error",
    "plugin_failed",
    "thinking_signature",
    "tool_images",
    "parameter",
    "long_context_tier",
    "llama_cpp_grammar_pattern",
    "budget",
    "unknown",
]
"""What went wrong with a model request; docs/reference/failures.md has the table of reasons and what is done
about each.
"""


class Failure(Struct, frozen=True, kw_only=True):
    """What went wrong with one model request and what may be done about it.

    `retryable`: the same request may pass later. `rotate`: another credential may pass. `fall_back`: another
    model may. `compress`: a shorter conversation may. `leave_out`: the same request may pass without that.
    `shared` says that a quota belongs to the account and no other credential of it helps. `reset_at` is in
    epoch seconds, from the provider's own header or body, when it gave one; `window` the model's window in
    tokens, when the error states it.
    """

    reason: Reason
    message: str
    status: int | None = None
    address: str = ""
    retryable: bool = False
    compress: bool = False
    rotate: bool = False
    fall_back: bool = False
    shared: bool = False
    leave_out: str = ""
    reset_at: float | None = None
    window: int = 0


class HermesError(Exception):
    """The root: each message is one sentence that says what is wrong, where, and what to do."""


class ConfigError(HermesError):
    """A fault in what the user configured."""

    def __init__(self, message: str, *, key: str = "", origin: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.key, self.origin, self.hint = key, origin, hint


class ModelError(HermesError):
    """A model request failed for good."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class ContextOverflow(ModelError):
    """The request does not fit the model's window; making room is the turn's work."""


class Exhausted(ModelError):
    """Every attempt failed; `failures` has each of them, the last one speaks."""

    def __init__(self, failures: tuple[Failure, ...]) -> None:
        super().__init__(failures[-1])
        self.failures = failures


class BudgetSpent(ModelError):
    """A budget of the turn, the session or the day does not allow another call; no request was made."""

    def __init__(self, message: str) -> None:
        super().__init__(Failure(reason="budget", message=message))


class ExecError(HermesError, RuntimeError):
    """A command could not be started or followed."""


class EnvironmentUnavailable(ExecError):
    """The place where commands should run cannot be used; the message says what to install or start."""


class EnvironmentLost(ExecError):
    """A machine elsewhere went away while a command ran there: what the command did is not known."""


class WorkspaceGone(ExecError, OSError):
    """The folder that a session works in is not there any more; nothing was done."""


class CommandTimeout(ExecError, TimeoutError):
    """A command ran out of time."""


class StoreError(HermesError):
    """The session store refused or failed an operation."""


class UnknownSession(StoreError):
    """What was given names no session, or more than one."""


class StorageDamaged(StoreError):
    """The store's file exists and cannot be read as one; it is never reported as empty."""


class SessionOwned(StoreError):
    """A living process works in this session, so that another may only read it; `pid` is that process."""

    def __init__(self, message: str, *, pid: int) -> None:
        super().__init__(message)
        self.pid = pid


class OutputInvalid(HermesError):
    """No answer of the form that was asked for; `text` is the last one."""

    def __init__(self, message: str, *, text: str = "") -> None:
        super().__init__(message)
        self.text = text


class SessionClosed(HermesError):
    """A verb came after its session was closed, or after the event loop that it ran on has ended."""


class PluginError(HermesError):
    """A third party's code failed; `plugin` names it, `phase` says when."""

    def __init__(self, message: str, *, plugin: str, phase: str) -> None:
        super().__init__(message)
        self.plugin, self.phase = plugin, phase


class SkillError(HermesError):
    """A skill is not there, cannot be read, or must not be written like that."""


class McpError(HermesError):
    """An MCP server cannot be reached, or does not do what was asked of it."""


class SecretUnavailable(HermesError):
    """A tool asked for a secret that it has not named, or that is not set."""


class Refused(HermesError):
    """A policy, a rule or a person said no; the message is for the model to read."""


class BeyondReading(Refused):
    """A command is larger than what can be read before it runs."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"This is too large to be read before it runs ({why}), so it never runs. Split it into plain"
            " commands, or write a script."
        )


class Outdated(Refused):
    """Something changed while an action was decided, so that it did not run; it may be tried again."""
