"""Work that a session hands to children: what each is asked, and what each reports."""

from typing import Any, Final, Literal

from msgspec import Struct

from hermes.types.usage import NO_USAGE, Usage

ChildState = Literal[
    "waiting", "running", "done", "cut", "budget", "refused", "failed", "timed_out", "stale", "cancelled"
]
"""How a child stands: it waits for a place, or runs, or ended as turns do, or its time was over, or nothing
was heard of it for long (`stale`), or it was cancelled.
"""

SUMMARY_LIMIT: Final = 24_000
"""Characters of a child's words that its parent's model gets; its session has all of them."""


class ChildTask(Struct, frozen=True, kw_only=True):
    """What a child is asked. `toolsets` narrow its tools (none: all that children may have); an
    `orchestrator` may have children of its own, where the settings let it.
    """

    goal: str
    context: str = ""
    toolsets: tuple[str, ...] = ()
    role: Literal["leaf", "orchestrator"] = "leaf"


class ChildReport(Struct, frozen=True, kw_only=True):
    """How a child ended. `text` is its answer, or its last words; `reason` says why it is not done.

    `changed` are the files that its tools and those of its children wrote, `cut_files` those
    of calls whose end nobody saw, which may have changed or not; of `unknown_tools` nobody can say what they
    wrote, for they are not there any more. `refused` is what it
    was not allowed, `outside` the name of what it has read that neither user nor workspace wrote; `seconds`
    is how long it ran, None where nobody saw its end.
    """

    session: str
    goal: str
    state: ChildState
    text: str = ""
    reason: str = ""
    changed: tuple[str, ...] = ()
    cut_files: tuple[str, ...] = ()
    unknown_tools: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    usage: Usage = NO_USAGE
    seconds: float | None = None
    model: str = ""
    outside: str = ""

    def as_result(self, number: int) -> dict[str, Any]:
        """The report as a part of a tool's result, for the task of that number."""
        used = self.usage
        optional = {
            "exit_reason": self.reason,
            "refused": list(self.refused),
            "maybe_changed_files": list(self.cut_files),
            "unknown_tools": list(self.unknown_tools),
        }
        clock = {} if self.seconds is None else {"duration_seconds": round(self.seconds, 2)}
        return {
            "task_index": number,
            "session_id": self.session,
            "status": self.state,
            "summary": self.text,
            **{name: value for name, value in optional.items() if value},
            "changed_files": list(self.changed),
            "tokens": {"input": used.input_tokens, "output": used.output_tokens},
            "cost": None if used.unpriced else round(used.cost, 6),
            "api_calls": used.requests,
            **clock,
            "model": self.model,
        }
