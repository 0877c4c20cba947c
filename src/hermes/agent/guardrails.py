"""Loops of calls that come to nothing: found within a turn, told to the model, stopped where that is set."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct, field

from hermes.config.sections import doc, section
from hermes.types.message import ToolCall, ToolResult
from hermes.types.tool import ToolManifest

_Count = Annotated[int, Meta(ge=1)]


class LoopLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often a thing may come again in one turn."""

    exact_failure: Annotated[_Count, doc("Here, the same call failing.")] = 2
    same_tool_failure: Annotated[_Count, doc("Here, one tool failing.")] = 3
    idempotent_no_progress: Annotated[_Count, doc("Here, the same result of a call that only reads.")] = 2


@section("tool_loop_guardrails")
class GuardrailSettings(Struct, frozen=True, kw_only=True):
    """What happens when a model makes calls in a circle."""

    warnings_enabled: Annotated[bool, doc("Tell the model that it goes in a circle.")] = True
    hard_stop_enabled: Annotated[
        bool, doc("Answer such calls without running them, and end a turn whose tool keeps failing.")
    ] = False
    warn_after: Annotated[LoopLimits, doc("Times after which it is told.")] = LoopLimits()
    hard_stop_after: Annotated[LoopLimits, doc("Times after which it is stopped.")] = LoopLimits(
        exact_failure=5, same_tool_failure=8, idempotent_no_progress=5
    )


Loop = Literal["exact_failure", "same_tool_failure", "idempotent_no_progress"]

WARNINGS: Final[Mapping[Loop, str]] = {
    "exact_failure": (
        "(This very call has failed {count} times in this turn. Making it again changes nothing: read the"
        " error, and change the call or what it works on.)"
    ),
    "same_tool_failure": (
        "({name} has failed {count} times in this turn. Look at what its errors have in common before you"
        " call it again, or take another way.)"
    ),
    "idempotent_no_progress": (
        "(This very call has given the same result {count} times in this turn, and nothing was changed in"
        " between. Use what it said.)"
    ),
}
BLOCKED: Final = "This call was not run: it {why}, {count} times in this turn. Do something else, or answer."
WHY: Final[Mapping[Loop, str]] = {
    "exact_failure": "has failed in exactly this form",
    "idempotent_no_progress": "has given the same result",
}
HALTED: Final = "{name} failed on and on, so this turn was ended (tool_loop_guardrails)."
HALTED_WORDS: Final = (
    "({name} has failed so often in this turn that nothing more is run in it. Say in words what was done,"
    " what fails, and what is left to do.)"
)


class LoopGuard(Struct):
    """What the calls of one turn came to.

    A call that changed something and went well begins the counts of calls anew, for after it the same call
    may come to something else; what a tool failed in all is counted on.
    """

    settings: GuardrailSettings
    failures: Counter[str] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)
    results: dict[str, tuple[str, int]] = field(default_factory=dict)

    def blocked(self, call: ToolCall) -> str:
        """Why a call is answered without being run; empty where it may run."""
        if not self.settings.hard_stop_enabled:
            return ""
        limits, key = self.settings.hard_stop_after, signature(call)
        same = self.results.get(key, ("", 0))[1]
        if self.failures[key] >= limits.exact_failure:
            return BLOCKED.format(why=WHY["exact_failure"], count=self.failures[key])
        if same >= limits.idempotent_no_progress:
            return BLOCKED.format(why=WHY["idempotent_no_progress"], count=same)
        return ""

    @property
    def halted(self) -> str:
        """The tool that failed so often that the turn ends; empty as long as it goes on."""
        if not self.settings.hard_stop_enabled:
            return ""
        limit = self.settings.hard_stop_after.same_tool_failure
        return next((name for name, count in self.tools.items() if count >= limit), "")

    def heard(self, call: ToolCall, result: ToolResult, manifest: ToolManifest) -> str:
        """Note a result; words for the model where it goes in a circle, else none."""
        key = signature(call)
        if failed(result):
            self.failures[key] += 1
            self.tools[call.name] += 1
            return self._warning(call)
        if manifest.effects:
            self.failures.clear()
            self.results.clear()
            return ""
        content = _hashed(result.content)
        before, count = self.results.get(key, ("", 0))
        self.results[key] = (content, count + 1 if content == before else 1)
        return self._told("idempotent_no_progress", call, self.results[key][1])

    def _warning(self, call: ToolCall) -> str:
        exact = self._told("exact_failure", call, self.failures[signature(call)])
        return exact or self._told("same_tool_failure", call, self.tools[call.name])

    def _told(self, loop: Loop, call: ToolCall, count: int) -> str:
        limit = getattr(self.settings.warn_after, loop)
        if not self.settings.warnings_enabled or count < limit:
            return ""
        return WARNINGS[loop].format(name=call.name, count=count)


def signature(call: ToolCall) -> str:
    """A call's name and arguments, whatever the order of the latter: SHA-256 of its canonical JSON."""
    return _hashed(f"{call.name} {msgspec.json.encode(call.arguments, order='sorted').decode()}")


def failed(result: ToolResult) -> bool:
    """Whether a call came to nothing: it failed, or its command ended with another code than 0."""
    if result.failed or not result.content.startswith("{"):
        return result.failed
    try:
        return bool(msgspec.json.decode(result.content, type=_CommandEnd).exit_code)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeEncodeError):
        return False


class _CommandEnd(Struct, frozen=True):
    """The end of a command, as a result tells it."""

    exit_code: int | None = None


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
