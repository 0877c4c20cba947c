"""Run hooks in the form of Claude Code where what they wait for happens here: told in its words, with its
answers in ours.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec import Struct, field

from hermes.agent.prompt.context_files import repository_top
from hermes.agent.services import SessionSource
from hermes.lib.text import clip
from hermes.plugins.claude_answers import FOR_PERSON, ClaudeAnswer, answer_of_claude, together
from hermes.plugins.claude_calls import ClaudeCall, absolute_from, calls_of, response_of, with_words
from hermes.plugins.claude_hooks import ClaudeHook
from hermes.plugins.hook_process import FOR_MODEL
from hermes.tools.arguments import ArgumentError, compiled
from hermes.types.event import Notice

if TYPE_CHECKING:
    from hermes.agent.session import Session

logger = logging.getLogger(__name__)

MOST: Final = 50
"""Calls of Claude Code that one of ours may be; each is shown to each command."""
_TOO_MANY: Final = "This call is {count} at once for its hooks; make it in parts of {most} at most."
_UNSHOWN: Final = "Its hooks could not be shown this call: {}"
_OTHERWISE: Final = "{} wants other arguments; make the call with these, if that is what you want: {}"
_NOT_KEPT: Final = "The message was not sent, and is not kept."


class ClaudeChoice(Protocol):
    """Which hooks may be run in a project."""

    def covers(self, one: ClaudeHook, project: Path, /) -> bool:
        """Whether this one may."""

    def untold(self, one: ClaudeHook, project: Path, /) -> str:
        """What is told of one that may not, once; "" then."""

    def lost(self, one: ClaudeHook, project: Path, /) -> str:
        """Why nothing may pass one that may not; "" where that is its own affair."""


class HookPlace(Struct, frozen=True, kw_only=True):
    """Where something happened: the session, where it is known, and the folder of its project."""

    session: "Session | None"
    project: Path

    @property
    def is_child(self) -> bool:
        """Whether the session works for another one."""
        return self.session is not None and bool(self.session.spec.parent)

    def tell(self, words: str) -> None:
        """Have the user see these words; without a session they are logged."""
        if words and self.session is not None:
            self.session.emit(Notice(level="info", text=clip(self.redacted(words), FOR_PERSON)))
        elif words:
            logger.warning("%s", words)

    def redacted(self, words: str) -> str:
        """Words without the secrets that are known."""
        return self.session.services.redactor.redact(words) if self.session is not None else words

    def folder(self) -> str:
        """Where relative paths begin."""
        return self.session.workspace.cwd if self.session is not None else str(self.project)

    async def by_links(self, call: ClaudeCall) -> tuple[ClaudeCall, ...]:
        """A call by the file that links lead its own path to, where that is another one."""
        if not call.path or self.session is None:
            return ()
        with suppress(OSError):  # it leads nowhere
            real = await self.session.workspace.real_path(call.path)
            return () if real == call.path else (call.about(real),)
        return ()

    def known(self, tool: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments as the tool will get them; as they are where it will refuse them."""
        entry = self.session.tools.tools.get(tool) if self.session is not None else None
        try:
            return args if entry is None else compiled(entry.schema).prepare(args)
        except ArgumentError:
            return args


class ClaudeEvents(Struct, kw_only=True):
    """The hooks, and what they are run with; `choice` says which were accepted for a project. `begun`
    are the words of SessionStart by session, until its first message, `projects` their projects.
    """

    hooks: tuple[ClaudeHook, ...]
    sessions: SessionSource
    environ: Mapping[str, str]
    choice: ClaudeChoice
    begun: dict[str, str] = field(default_factory=dict)
    projects: dict[str, Path] = field(default_factory=dict)

    @property
    def callbacks(self) -> dict[str, Callable[..., Any]]:
        """What is called at each hook point that hooks wait for."""
        every = {
            "pre_tool_call": self.before_call,
            "transform_tool_result": self.after_call,
            "pre_llm_call": self.prompted,
            "pre_verify": self.about_to_end,
            "subagent_start": self.child_began,
            "on_session_start": self.session_began,
            "on_session_finalize": self.session_ended,
            "pre_approval_request": self.person_is_asked,
        }
        if not self.hooks:
            return {}
        wanted = {one.point for one in self.hooks} | {"on_session_start", "on_session_finalize"}
        if any(one.event == "SessionStart" for one in self.hooks):
            wanted.add("pre_llm_call")
        return {point: call for point, call in every.items() if point in wanted}

    async def before_call(self, **offered: Any) -> Any:
        """Show each of the calls that one of ours is; the first that is blocked blocks it."""
        try:
            return await self._before(offered)
        except Exception as error:  # noqa: BLE001  # a guard that saw nothing guards nothing
            logger.warning(
                "Hooks at PreToolUse could not be shown a call of %s: %r", offered["tool_name"], error
            )
            return _block(_UNSHOWN.format(error))

    async def _before(self, offered: Mapping[str, Any]) -> Any:
        place = self._place(offered)
        waiting = [one for one in self.hooks if one.event == "PreToolUse"]
        calls = [one for one in _calls(offered, place) if any(hook.fits(*one.names) for hook in waiting)]
        if len(calls) > MOST:
            return _block(_TOO_MANY.format(count=len(calls), most=MOST))
        calls = [shown for one in calls for shown in (one, *await place.by_links(one))]
        asks = []
        for call in calls:
            for one, answer in await self._answers("PreToolUse", call, _about_call(call, offered), place):
                if why := answer.stops or answer.blocks or _otherwise(one, call, answer):
                    self._stop(place, answer.stops)
                    return _block(why)
                asks.append(answer)
        why = together(asks).asks
        return {"action": "approve", "message": why} if why else None

    async def after_call(self, **offered: Any) -> str | None:
        """The result with what hooks say of it."""
        event = "PostToolUse" if offered["status"] == "ok" else "PostToolUseFailure"
        place, result, found = self._place(offered), str(offered["result"]), []
        for call in _calls(offered, place):
            told = _about_call(call, offered) | {"tool_response": response_of(call, result)}
            if event == "PostToolUseFailure":
                told |= {"error": offered["error_message"], "is_interrupt": False}
            found += [answer for _, answer in await self._answers(event, call, told, place)]
        said = together(found)
        self._stop(place, said.stops)
        words = "\n".join(filter(None, (said.blocks, said.context)))
        return with_words(result, words) if words else None

    async def prompted(self, **offered: Any) -> str | None:
        """Words that go with a message; what stops it stops the turn before the model hears of it."""
        place = self._place(offered)
        if place.is_child:
            return None
        words = [self.begun.pop(str(offered["session_id"]), "")]
        said = await self._said("UserPromptSubmit", "", {"prompt": offered["user_message"]}, place)
        if (why := said.stops or said.blocks) and place.session is not None:
            place.session.refuse(f"{why} {_NOT_KEPT}")
        return "\n".join(filter(None, (*words, said.context, said.printed))) or None

    async def about_to_end(self, **offered: Any) -> Any:
        """Why the turn goes on, where a hook wants that."""
        place = self._place(offered)
        told = {
            "stop_hook_active": offered["attempt"] > 1,
            "last_assistant_message": offered["final_response"],
        }
        if place.is_child:
            told |= {"agent_id": offered["session_id"], "agent_type": ""}
        said = await self._said("SubagentStop" if place.is_child else "Stop", "", told, place)
        return _block(said.blocks) if said.blocks and not said.stops else None

    async def child_began(self, **offered: Any) -> None:
        """Tell of a child."""
        told = {"agent_id": offered["child_session_id"], "agent_type": offered["child_role"]}
        await self._said("SubagentStart", str(offered["child_role"]), told, self._place(offered))

    async def session_began(self, **offered: Any) -> None:
        """Keep what hooks say for the first message."""
        place, source = self._place(offered), "resume" if offered["resumed"] else "startup"
        if not place.is_child:
            told = {"source": source, "model": offered["model"]}
            said = await self._said("SessionStart", source, told, place)
            self.begun[str(offered["session_id"])] = "\n".join(filter(None, (said.context, said.printed)))

    async def session_ended(self, **offered: Any) -> None:
        """Tell that a session was closed."""
        place = self._place(offered)
        self.begun.pop(str(offered["session_id"]), None)
        if not place.is_child:
            await self._said("SessionEnd", "other", {"reason": "other"}, place)
        self.projects.pop(str(offered["session_id"]), None)

    async def person_is_asked(self, **offered: Any) -> None:
        """Tell that a person is waited for."""
        message = f"Hermes needs your permission: {offered['command']}"
        told = {"message": message, "notification_type": "permission_prompt"}
        await self._said("Notification", "permission_prompt", told, self._place(offered))

    async def _said(
        self, event: str, subject: str, told: Mapping[str, Any], place: HookPlace
    ) -> ClaudeAnswer:
        """What all hooks of an event say together."""
        call = ClaudeCall(names=(subject,) if subject else (), arguments={})
        return together(answer for _, answer in await self._answers(event, call, told, place))

    async def _answers(
        self, event: str, call: ClaudeCall, told: Mapping[str, Any], place: HookPlace
    ) -> list[tuple[ClaudeHook, ClaudeAnswer]]:
        """Each hook of an event that fits a call and was accepted, with its answer."""
        found = []
        for one in self.hooks:
            name = one.fitting(call.names) if one.event == event else None
            if name is None:
                continue
            if not self.choice.covers(one, place.project):
                place.tell(self.choice.untold(one, place.project))
                if event == "PreToolUse" and (why := self.choice.lost(one, place.project)):
                    found.append((one, ClaudeAnswer(blocks=why)))
                continue
            named = {"tool_name": call.named(name)} if "tool_input" in told else {}
            ran = await one.program(place.project, self.environ).run({**_base(event, place), **told, **named})
            answer = answer_of_claude(one, ran, place.redacted)
            place.tell(answer.told)
            found.append((one, answer))
        return found

    def _place(self, offered: Mapping[str, Any]) -> HookPlace:
        ids = (offered.get(name) for name in ("session_id", "session_key", "parent_session_id"))
        session = self.sessions.find(str(next(filter(None, ids), "")))
        return HookPlace(session=session, project=self._project(session))

    def _project(self, session: "Session | None") -> Path:
        """The project of a session as it was when it was first seen, for a child that of its parent: a
        session may make a repository of its folder.
        """
        if session is None:
            return project_at(Path.cwd())
        known = self.projects.get(session.spec.parent) or project_at(session.spec.cwd)
        return self.projects.setdefault(session.id, known)

    def _stop(self, place: HookPlace, why: str) -> None:
        if why and place.session is not None:
            place.session.interrupt(why)


def project_at(cwd: Path) -> Path:
    """The project that a folder belongs to."""
    return repository_top(cwd.resolve())


def _base(event: str, place: HookPlace) -> dict[str, Any]:
    session = place.session
    opened = session.opened if session is not None else None
    begins = session.spec.cwd if session is not None else place.project
    return {
        "session_id": session.id if session is not None else "",
        "transcript_path": "",
        "cwd": opened.workspace.cwd if opened is not None else str(begins),
        "hook_event_name": event,
    }


def _calls(offered: Mapping[str, Any], place: HookPlace) -> list[ClaudeCall]:
    tool = str(offered["tool_name"])
    return calls_of(tool, place.known(tool, offered["args"]), absolute_from(place.folder))


def _about_call(call: ClaudeCall, offered: Mapping[str, Any]) -> dict[str, Any]:
    return {"tool_input": call.arguments, "tool_use_id": offered["tool_call_id"]}


def _otherwise(one: ClaudeHook, call: ClaudeCall, answer: ClaudeAnswer) -> str:
    """Why a call is not made whose arguments a hook wants to be others."""
    wanted = answer.arguments or {}
    differs = {name: value for name, value in wanted.items() if call.arguments.get(name) != value}
    return clip(_OTHERWISE.format(one.words, differs), FOR_MODEL) if differs else ""


def _block(why: str) -> dict[str, str]:
    return {"action": "block", "message": why}


def events_of(every: Iterable[object]) -> tuple[ClaudeHook, ...]:
    """Those hooks that have this form."""
    return tuple(one for one in every if isinstance(one, ClaudeHook))
