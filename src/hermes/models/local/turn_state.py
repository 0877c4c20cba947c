"""How far a turn of a small model is, read from the log: what the model said that it needs, what its calls
have shown, and which failures nothing has answered.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

import jiter
from msgspec import Struct

from hermes.models.local.claims import names_files
from hermes.types.message import Assistant, Message, ToolCall, ToolResult, User

ANSWER: Final = "answer"
"""The name under which an answer that claims what no tool has shown stands in the log, as a call with a
fault.
"""
NEEDS: Final = ("nothing", "look", "change")
"""What a small model says of a message before all else: that it needs no tool, that something has to be
looked at or worked out, that something is to be made, changed or run.
"""
PROBLEM: Final = "problem"
SHELL: Final = "terminal"
READER: Final = "read_file"
"""The tool that can do nothing but show a file."""
_MOST_FAILURES: Final = 4
_MOST_REFUSED: Final = 2
_WORD: Final = re.compile(r"[^\s'\"`;|&<>()=,]{2,}")


class Ran(Struct, frozen=True):
    """A call of the turn, if the log has it, and what came of it."""

    call: ToolCall | None
    result: ToolResult

    @property
    def failed(self) -> bool:
        """Whether the tool said that it failed, in whatever form."""
        return has_failed(self.result)

    @property
    def text(self) -> str:
        """What it showed."""
        return plain(self.result.content).strip()

    @property
    def words(self) -> frozenset[str]:
        """What the call was about: names in its arguments, without the program's where there are others."""
        found = [_name(word) for text in self.spoken for word in _WORD.findall(text) if word[0] != "-"]
        return frozenset(found[1:] if len(found) > 1 and self.result.name == SHELL else found)

    @property
    def spoken(self) -> list[str]:
        """The texts in its arguments."""
        return [
            value for value in (self.call.arguments if self.call else {}).values() if isinstance(value, str)
        ]


class TurnState(Struct, frozen=True):
    """The turn that a log ends with: what was `asked`, what the model said that it `needs` (empty where it
    said nothing), what its calls have shown, and how many of its answers were sent back.
    """

    asked: str
    needs: str
    ran: tuple[Ran, ...]
    refused: int

    @property
    def is_early(self) -> bool:
        """Whether words would come too soon: the only call so far failed, or was to show something and did
        not.
        """
        if len(self.ran) != 1:
            return False
        return self.ran[0].failed or (self.needs == "look" and not self.ran[0].text)

    @property
    def open_failures(self) -> tuple[Ran, ...]:
        """The failures after which no call about the same thing has worked."""
        return tuple(one for at, one in enumerate(self.ran) if one.failed and not self._answered(one, at))

    @property
    def is_stuck(self) -> bool:
        """Whether more calls lead nowhere: the last one was made before with the same result (twice, where it
        failed), or they fail on and on.
        """
        last = self.ran[-_MOST_FAILURES:]
        endless = len(last) == _MOST_FAILURES and all(one.failed for one in last)
        return endless or self._times_made > (2 if last and last[-1].failed else 1)

    @property
    def given_up(self) -> str:
        """The tool that has failed twice in the same way; empty where none has."""
        return self.ran[-1].result.name if self._times_made > 1 and self.ran[-1].failed else ""

    @property
    def _times_made(self) -> int:
        """How often the last call was made with the same result."""
        made = [(one.result.name, one.spoken, one.text) for one in self.ran]
        return made.count(made[-1]) if made else 0

    @property
    def is_checked(self) -> bool:
        """Whether words of the model are held against what was shown: once it has looked, and where a
        question with numbers may want others worked out. All else that needs no tool is talk.
        """
        return bool(self.ran) or any(letter.isdigit() for letter in self.asked)

    @property
    def needs_a_look(self) -> bool:
        """Whether an answer from the head is out of the question: what was asked names a file, or such an
        answer was sent back.
        """
        return bool(self.refused) or names_files(self.asked)

    @property
    def may_refuse(self) -> bool:
        """Whether an answer may still be sent back."""
        return self.refused < _MOST_REFUSED and not self.is_stuck

    def _answered(self, failure: Ran, at: int) -> bool:
        later = (one for one in self.ran[at + 1 :] if not one.failed and one.words & failure.words)
        only_looks = {READER} if failure.result.name != READER else frozenset[str]()
        return any(one.result.name not in only_looks for one in later)


def turn_state(messages: Sequence[Message]) -> TurnState:
    """The state of the turn that these messages end with."""
    turn = _current_turn(messages)
    said = [said_first(message) for message in turn if isinstance(message, Assistant)]
    ran = tuple(_ran(turn))
    return TurnState(
        asked=next((message.text for message in turn if isinstance(message, User)), ""),
        needs=next((word for word in reversed(said) if word in NEEDS), ""),
        ran=tuple(one for one in ran if one.result.name != ANSWER),
        refused=sum(one.result.name == ANSWER for one in ran),
    )


def _ran(turn: Sequence[Message]) -> Iterator[Ran]:
    calls: dict[str, ToolCall] = {}  # a local model's replies all begin with the same id
    for message in turn:
        if isinstance(message, Assistant):
            calls.update({call.id: call for call in message.calls})
        if isinstance(message, ToolResult):
            yield Ran(calls.get(message.call_id), message)


def _current_turn(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages from the last one of the person on."""
    start = max((index for index, message in enumerate(messages) if isinstance(message, User)), default=0)
    return messages[start:]


def said_first(reply: Assistant) -> str:
    """The word that a reply began with."""
    return reply.thinking[0].text if reply.thinking and reply.thinking[0].text in (*NEEDS, PROBLEM) else ""


def has_failed(result: ToolResult) -> bool:
    """Whether a tool said that it failed, in whatever form."""
    return result.failed or exit_code(result) != 0


def exit_code(result: ToolResult) -> object:
    """0 for what worked, as the tool's own JSON says it."""
    value = _object(result.content)
    return (value.get("exit_code", 1 if value.get("error") else 0) or 0) if value is not None else 0


_BOOKKEEPING = frozenset(
    {"resolved_path", "files_modified", "dirs_created", "bytes_written", "status", "duration_seconds"}
)


def plain(content: str) -> str:
    """A tool's JSON result as lines for reading: its main text first, then what else it says."""
    value = _object(content)
    if value is None:
        return content
    main = next((key for key in ("output", "content", "error") if isinstance(value.get(key), str)), "")
    return "\n".join([str(value[main]).rstrip(), *_rest(value, main)] if main else list(_rest(value, main)))


def _rest(value: Mapping[str, object], main: str) -> Iterator[str]:
    for key, item in value.items():
        if key != main and _telling(key, item):
            yield f"{key}: {item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)}"


def _telling(key: str, item: object) -> bool:
    if isinstance(item, dict) and item.get("status") in ("ok", "skipped"):
        return False
    return key not in _BOOKKEEPING and item not in ("", 0, None, [], {})


def _object(content: str) -> dict[str, object] | None:
    try:
        value = jiter.from_json(content.encode())
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _name(word: str) -> str:
    return PurePosixPath(word).name.casefold()
