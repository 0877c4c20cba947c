"""The lines of `--json`, one type for each kind: what a program that reads them may count on.

`schema()` is the JSON Schema of a line, which `hermes --json-schema` prints. A new field or kind keeps the
version; one that goes away, or means something else, is another version.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from hermes.types.delegation import ChildState
from hermes.types.event import Outcome


def _kind(name: str) -> str:
    """The kind of a type: `ToolStartLine` is `tool_start`."""
    words = name.removesuffix("Line")
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in words).lstrip("_")


class Line(Struct, frozen=True, kw_only=True, tag_field="kind", tag=_kind):
    """One line; `v` is the version of the format."""

    v: Literal[1] = 1


class StartLine(Line, frozen=True, kw_only=True):
    """The first line: the session's id, the model as provider/name, and the names of its tools.

    It is left out where no session could be opened: then there are `error` and `end` alone.
    """

    session: str
    model: str
    tools: Sequence[str]


class TextLine(Line, frozen=True, kw_only=True):
    """A piece of what the model says."""

    text: str


class RestartLine(Line, frozen=True, kw_only=True):
    """The text of the answer so far is void: it is written anew, after a cut or because it did not fit the
    schema.
    """


class ToolStartLine(Line, frozen=True, kw_only=True):
    """A call of a tool began; `parent` is the call of the script that made it, empty for the model's own."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    parent: str = ""


class ToolEndLine(Line, frozen=True, kw_only=True):
    """A call ended.

    `output` is what it printed, why it did not run, or its result as JSON where it prints nothing;
    `exit_code` is there for commands. The output is as long as the model gets it; `full` is the path of the
    whole where it was cut. `diff` is what it changed in files of the workspace, as far as that is known: a
    unified diff, with a line in words for each file that is long, no text, renamed or removed.
    """

    id: str
    name: str
    seconds: float
    failed: bool
    exit_code: int | None = None
    output: str = ""
    full: str = ""
    diff: str = ""


class ChildLine(Line, frozen=True, kw_only=True):
    """A child session waits, does something else than before, or has ended; `call` started it."""

    call: str
    session: str
    goal: str
    state: ChildState
    doing: str
    tokens: int
    seconds: float


class ApprovalLine(Line, frozen=True, kw_only=True):
    """Something needed an approval: what, why, what the answer was and who gave it."""

    command: str
    reasons: Sequence[str]
    answer: Literal["grant", "deny", "reply"]
    by: str


class RetryLine(Line, frozen=True, kw_only=True):
    """A request failed and is made again after `delay` seconds; `next` is the model where it is another."""

    reason: str
    message: str
    delay: float
    attempt: int
    action: str
    next: str


class NoticeLine(Line, frozen=True, kw_only=True):
    """Something a person should know; `doing` and `seconds` say what the session does, and for how long."""

    level: Literal["info", "warning", "error"]
    text: str
    doing: str
    seconds: float


class CompactionStartLine(Line, frozen=True, kw_only=True):
    """Older messages are being summed up; `tokens` is what the last request took."""

    tokens: int


class CompactionLine(Line, frozen=True, kw_only=True):
    """Older messages were summed up: how many, and the tokens before and after, the same where nothing was
    saved.
    """

    dropped: int
    before: int
    after: int


class GoalLine(Line, frozen=True, kw_only=True):
    """The goal was judged."""

    state: str
    turn: int
    limit: int
    reason: str


class UsageLine(Line, frozen=True, kw_only=True):
    """What a reply took, in tokens and requests."""

    input: int
    output: int
    cached: int
    requests: int


class ErrorLine(Line, frozen=True, kw_only=True):
    """What made the turn fail, or that no answer fits the schema; `status` is that of HTTP, `address` the
    server's.
    """

    reason: str
    message: str
    status: int | None
    address: str


class TokenCounts(Struct, frozen=True, kw_only=True):
    """Tokens of a turn; `cached` is a part of the input."""

    input: int = 0
    output: int = 0
    cached: int = 0


class EndLine(Line, frozen=True, kw_only=True):
    """The last line, always.

    `output` is the answer as JSON where a schema was asked for and it fits; where none did, `status` is
    failed. `answer` is what the model said, be it cut short. `tokens` and `seconds` are those of all tries.
    `cost` is in US dollars, null where a part has no known price, or was cut before its tokens were told;
    `refused` are the actions that nobody could allow; those that nothing ever allows end with
    " (never allowed)", those that plan mode kept back with " (plan mode)".
    """

    status: Outcome
    answer: str
    tokens: TokenCounts
    cost: float | None
    seconds: float
    refused: Sequence[str]
    session: str
    output: Any = None


AnyLine = (
    StartLine
    | TextLine
    | RestartLine
    | ToolStartLine
    | ToolEndLine
    | ChildLine
    | ApprovalLine
    | RetryLine
    | NoticeLine
    | CompactionStartLine
    | CompactionLine
    | GoalLine
    | UsageLine
    | ErrorLine
    | EndLine
)


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a line."""
    found = msgspec.json.schema(AnyLine)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A line of --json", **found}
