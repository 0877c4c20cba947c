"""Memory as a session sees it: what it notes stands in the prompt of the next session."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta, Struct

from hermes.agent.outside import sources_of
from hermes.config.sections import doc, section
from hermes.lib.lazy import import_object
from hermes.store.facts import Fact
from hermes.store.notes import Edit, Note, NoteOrigin, Notes, Target
from hermes.types.error import StoreError

if TYPE_CHECKING:
    from hermes.agent.session import Session


@section("memory")
class MemorySettings(Struct, frozen=True, kw_only=True):
    """Notes that last."""

    memory_enabled: Annotated[bool, doc("Put MEMORY.md into the prompt.")] = True
    user_profile_enabled: Annotated[bool, doc("Put USER.md into the prompt.")] = True
    memory_tokens: Annotated[int, Meta(ge=1), doc("Tokens that MEMORY.md may take.")] = 600
    user_tokens: Annotated[int, Meta(ge=1), doc("Tokens that USER.md may take.")] = 350
    provider: Annotated[
        str, doc("What recalls facts that fit a message: sqlite, git_notes; empty for nothing.")
    ] = ""
    recall_timeout: Annotated[
        float, Meta(gt=0), doc("Seconds that a message waits for what is recalled; then it goes without.")
    ] = 0.5
    recall_tokens: Annotated[int, Meta(ge=1), doc("Tokens that may be recalled with a message.")] = 400
    notes_folder: Annotated[
        str, doc("The git repository, or a folder in one, where git_notes keeps its notes.")
    ] = ""
    half_life_days: Annotated[
        float, Meta(ge=0), doc("Days after which a fact is worth half; 0 for facts that do not grow old.")
    ] = 90.0

    def notes(self, folder: Any) -> Notes:
        """The notes of a home with these limits."""
        return Notes(folder=folder, limits={"memory": self.memory_tokens, "user": self.user_tokens})


class SessionMemory(Struct, frozen=True):
    """The notes as one session may change them; satisfies `types.tool.Memory`."""

    notes: Notes
    session: "Session"

    def edit(self, target: str, edits: Sequence[Mapping[str, str]]) -> Mapping[str, object]:
        """Make all changes or none; StoreError says in words for a model what cannot be."""
        file = _target(target)
        notes = self.notes.edit(file, [_edit(one) for one in edits], self._origin())
        used, limit = self.notes.used(file), self.notes.limits[file]
        return {
            "target": target,
            "usage": f"{used} of {limit} tokens",
            "entry_count": len(notes),
            "entries": [one.text for one in notes],
            "note": "It stands in the prompt of the next session.",
        }

    def _origin(self) -> NoteOrigin:
        session = self.session
        read = [one.name for one in sources_of(session)]
        return NoteOrigin(at=session.services.ports.now(), session=session.id, outside=tuple(read[-3:]))


def described(note: Note) -> str:
    """A note and where it comes from, for a person."""
    origin = note.origin
    if not origin.at:
        return f"{note.text} (written by hand)"
    return f"{note.text} ({_noted(origin.at, origin.session)}{_after(origin.outside)})"


def described_fact(fact: Fact) -> str:
    """A fact, its id and where it comes from, for a person."""
    user = f" for {fact.origin}" if fact.origin else ""
    return f"{fact.text} (id {fact.id}, {_noted(fact.at, fact.session)}{user}{_after(fact.outside)})"


def _noted(at: float, session: str) -> str:
    day = dt.datetime.fromtimestamp(at, tz=dt.UTC).astimezone().date()
    return f"noted {day} in session {session}" if session else f"written by hand {day}"


def _after(outside: Sequence[str]) -> str:
    return f", after text from {', '.join(outside)}" if outside else ""


def _target(name: str) -> Target:
    try:
        found: Target = msgspec.convert(name, Target)
    except msgspec.ValidationError as error:
        raise StoreError("target is memory or user.") from error
    return found


def _edit(given: Mapping[str, str]) -> Edit:
    content = given.get("content", "")
    if import_object("hermes.safety.text.scan:scan")(content):
        raise StoreError("The content has hidden, encoded or forged text; a note is plain words.")
    try:
        return msgspec.convert(dict(given), Edit)
    except msgspec.ValidationError as error:
        raise StoreError("action is add, replace or remove.") from error
