"""Memory made of single facts, wherever they are kept: recalled by what is said, noted and forgotten by two
tools.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from hermes.agent.memory import MemorySettings
from hermes.agent.memory_provider import MemoryAnswer, MemoryScope, MemoryTool, ProviderHome, Recalled
from hermes.lib.lazy import import_object
from hermes.store.facts import DAY, Fact, FactStore
from hermes.store.protocol import Viewer
from hermes.store.sqlite_facts import SqliteFacts
from hermes.tools.registry import tool_error, tool_result
from hermes.types.ports import Ports

RECALLED: Final = 6
"""Facts that come with one message."""
LONGEST: Final = 2_000
"""Characters of one fact."""
FACTS: Final = "facts.db"
SHARED: Final = "Several people have spoken in this session, so nobody's own facts are told here."
SEVERAL: Final = (
    "Several people speak in this turn, so it cannot be told whose fact it is; nothing was changed. Whoever"
    " wants it noted or forgotten may say so in a message of their own."
)
_REMEMBER: Final[dict[str, Any]] = {
    "name": "remember",
    "description": (
        "Facts of which only those that fit come with a later message: note one (text), or forget one by its"
        " id. What every session must know goes to the tool memory instead."
    ),
    "parameters": {
        "type": "object",
        "properties": {"text": {"type": "string"}, "forget": {"type": "string", "description": "id"}},
        "required": [],
    },
}
_RECALL: Final = {
    "name": "recall",
    "description": "Facts that were noted with remember and have to do with a query, with their ids.",
    "parameters": {
        "type": "object",
        "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "default": 10}},
        "required": ["query"],
    },
}


class FactMemory(Struct, frozen=True, kw_only=True):
    """A `MemoryProvider` over a place that keeps facts."""

    name: str
    facts: FactStore
    ports: Ports

    def tools(self) -> Sequence[MemoryTool]:
        """Remember and recall."""
        return MemoryTool(schema=_REMEMBER), MemoryTool(schema=_RECALL, effects=())

    def system_prompt_block(self) -> str:
        """Nothing: the tools say it."""
        return ""

    def session_started(self, scope: MemoryScope) -> None:
        """Nothing is to be done."""

    def prefetch(self, query: str, scope: MemoryScope) -> Sequence[Recalled]:
        """The facts that fit, each with when it was noted."""
        found = self.facts.fitting(query, scope.viewer, limit=RECALLED, now=scope.at)
        return [
            Recalled(text=f"- {one.text} ({_day(one)}, id {one.id})", outside=one.outside) for one in found
        ]

    def call(self, tool: str, arguments: Mapping[str, Any], scope: MemoryScope) -> MemoryAnswer:
        """Note, forget or find facts."""
        if tool == "recall":
            return self._recall(arguments, scope)
        if not (arguments.get("text") or arguments.get("forget")):
            return MemoryAnswer(content=tool_error(_neither(arguments)))
        if scope.speaker is None:
            return MemoryAnswer(content=tool_error(SEVERAL))
        if forgotten := str(arguments.get("forget") or ""):
            return MemoryAnswer(content=self._forget(forgotten, scope, scope.speaker))
        text = str(arguments.get("text") or "").strip()
        return MemoryAnswer(content=self._remember(text, scope, scope.speaker))

    def noted(self) -> Sequence[Fact]:
        """All facts."""
        return self.facts.everything()

    def forget(self, fact_id: str) -> bool:
        """Forget a fact of anybody's."""
        found = next((one for one in self.facts.everything() if one.id == fact_id), None)
        return found is not None and self.facts.remove(fact_id, Viewer(origins=frozenset({found.origin})))

    def session_ended(self, scope: MemoryScope) -> None:
        """Nothing is to be done."""

    def close(self) -> None:
        """Let go of the facts."""
        self.facts.close()

    def _forget(self, fact_id: str, scope: MemoryScope, speaker: str) -> str:
        if self.facts.remove(fact_id, replace(scope.viewer, origins=frozenset({speaker}))):
            return tool_result(success=True, forgotten=fact_id)
        return tool_error(f"There is no fact {fact_id}; recall gives their ids.")

    def _remember(self, text: str, scope: MemoryScope, speaker: str) -> str:
        if not text or len(text) > LONGEST:
            return tool_error(f"text is one fact, of 1 to {LONGEST:,} characters; this has {len(text):,}.")
        if import_object("hermes.safety.text.scan:scan")(text):
            return tool_error("The text has hidden, encoded or forged stretches; a fact is plain words.")
        fact = Fact(
            id=self.ports.token(),
            text=text,
            at=scope.at,
            session=scope.session,
            origin=speaker,
            bounds=scope.viewer.bounds,
            outside=scope.outside[-3:],
        )
        return tool_result(success=True, id=self.facts.add(fact))

    def _recall(self, arguments: Mapping[str, Any], scope: MemoryScope) -> MemoryAnswer:
        limit = min(max(int(arguments.get("limit") or 10), 1), 50)
        found = self.facts.find(str(arguments["query"]), scope.viewer, limit=limit, now=scope.at)
        facts = [
            {"id": one.id, "text": one.text, "noted": _day(one), "session": one.session} for one in found
        ]
        shared = {"note": SHARED} if scope.viewer.alone is None else {}
        return MemoryAnswer(
            content=tool_result(success=True, facts=facts, **shared),
            outside=tuple(dict.fromkeys(name for one in found for name in one.outside)),
        )


def sqlite(home: ProviderHome) -> FactMemory:
    """Facts in a file of the home."""
    days = home.settings[MemorySettings].half_life_days
    facts = SqliteFacts(home.folder / FACTS, half_life=days * DAY)
    return FactMemory(name="sqlite", facts=facts, ports=home.ports)


def git_notes(home: ProviderHome) -> FactMemory:
    """Facts as notes in the git repository of the user's choice; of the home's own, without one."""
    days = home.settings[MemorySettings].half_life_days
    index = import_object("hermes.store.note_index:NoteIndex")(home.folder / "notes.db", half_life=days * DAY)
    notes = import_object("hermes.store.git_notes:GitNotes")(_notes_folder(home), home.environ, index)
    return FactMemory(name="git_notes", facts=notes, ports=home.ports)


def place(name: str, home: ProviderHome) -> Path:
    """Where a provider of this module keeps its facts; StoreError and ConfigError when it cannot keep them
    there. Nothing is changed by asking.
    """
    if name == "sqlite":
        path = Path(home.folder, FACTS)
        import_object("hermes.store.fact_file:examine")(path)
        return path
    folder = _notes_folder(home)
    import_object("hermes.store.git_notes:examine")(folder, home.environ)
    return folder


def _notes_folder(home: ProviderHome) -> Path:
    chosen = home.settings[MemorySettings].notes_folder
    return Path(chosen).expanduser() if chosen else Path(home.folder, "notes")


def _neither(arguments: Mapping[str, Any]) -> str:
    """What is said of a call that gives nothing to note or forget."""
    unknown = ", ".join(sorted(arguments.keys() - _REMEMBER["parameters"]["properties"].keys()))
    told = f"remember has no parameter {unknown}. " if unknown else ""
    return f"{told}Give text, one fact of at most {LONGEST:,} characters, or forget, the id of one."


def _day(fact: Fact) -> str:
    return f"noted {dt.datetime.fromtimestamp(fact.at, tz=dt.UTC).astimezone().date()}"
