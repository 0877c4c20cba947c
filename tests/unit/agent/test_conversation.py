"""Messages into a session: none is lost, none is sent twice, and they go in their order."""

from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import hermes
from hermes.agent.conversation import Conversation, Conversations
from hermes.testing import ScriptedModel, call, say
from hermes.types.actor import Actor
from hermes.types.event import Added, TextDelta, TurnFinished
from hermes.types.message import ToolResult, User
from tests.scenarios.conftest import Talk, talk  # noqa: F401  # a fixture

pytestmark = pytest.mark.anyio


class View:
    def __init__(self) -> None:
        self.log: list[tuple[str, str]] = []

    def sent(self, text: str) -> None:
        self.log.append(("sent", text))

    def returned(self, text: str, by: Actor | None) -> None:
        self.log.append((f"returned {by.origin}" if by else "returned", text))

    def refused(self, sentence: str) -> None:
        self.log.append(("refused", sentence))


async def follow(conversation: Conversation, during: Callable[[Any], None], turns: int) -> None:
    """Hand every turn's end to the conversation, as an app does, until so many have ended."""
    assert conversation.session is not None
    with conversation.session.watch() as events:
        async for event in events:
            during(event)
            if isinstance(event, TurnFinished):
                conversation.finished(event)
                turns -= 1
                if not turns:
                    return


async def test_messages_wait_for_the_running_turn_and_late_notes_become_the_next_turn(talk: Talk) -> None:  # noqa: F811
    view, ada = View(), Actor(app="telegram", id="ada")
    async with (
        talk(ScriptedModel(*[say("an answer", size=3, pause=0.005)] * 3)) as session,
        anyio.create_task_group() as group,
    ):
        conversation = Conversation(group.start_soon, view, session)
        put = iter(["queue", "steer"])

        def during(event: Any) -> None:
            match isinstance(event, TextDelta) and next(put, ""):
                case "queue":
                    conversation.queue("second", by=ada)
                case "steer":
                    conversation.send("a note")
                    assert conversation.steered == ("a note",)

        group.start_soon(follow, conversation, during, 3)
        await anyio.lowlevel.checkpoint()
        conversation.send("first")
        while len(view.log) < 3 or conversation.busy:  # noqa: ASYNC110  # the turns set no event
            await anyio.sleep(0.001)
        said = [(one.text, one.origin) for one in session.log if isinstance(one, User)]
    assert view.log == [("sent", "first"), ("sent", "a note"), ("sent", "second")]
    assert said == [("first", "cli"), ("a note", "cli"), ("second", "telegram:ada")]


async def test_a_stopped_turn_hands_back_what_no_model_has_seen(talk: Talk) -> None:  # noqa: F811
    view = View()
    async with (
        talk(ScriptedModel(say("an answer", size=1, pause=0.01))) as session,
        anyio.create_task_group() as group,
    ):
        conversation = Conversation(group.start_soon, view, session)

        def during(event: Any) -> None:
            if isinstance(event, TextDelta) and not conversation.steered:
                conversation.send("note")
                conversation.queue("later")
                assert conversation.stop()

        group.start_soon(follow, conversation, during, 1)
        await anyio.lowlevel.checkpoint()
        conversation.send("first")
        while conversation.busy:  # noqa: ASYNC110  # the turn sets no event
            await anyio.sleep(0.001)
    assert view.log == [("sent", "first"), ("returned", "note\nlater")]
    assert (conversation.steered, conversation.queued) == ((), [])


async def test_what_comes_before_a_session_is_open_is_sent_when_it_is(talk: Talk) -> None:  # noqa: F811
    view = View()
    async with talk(ScriptedModel(say("x"))) as session, anyio.create_task_group() as group:
        conversation = Conversation(group.start_soon, view)
        conversation.send("early")
        assert (view.log, conversation.waiting) == ([], ("early",))
        conversation.attach(session)
        await follow(conversation, lambda _: None, 1)
    assert view.log == [("sent", "early")]


async def test_idle_conversations_are_closed_and_busy_ones_are_not(talk: Talk) -> None:  # noqa: F811
    now = [0.0]
    async with talk(ScriptedModel()) as session, anyio.create_task_group() as group:

        async def opening(key: str) -> Conversation:
            del key
            await anyio.lowlevel.checkpoint()
            return Conversation(group.start_soon, View(), session)

        conversations = Conversations(opening, lambda: now[0], idle_seconds=60)
        first = await conversations.get("a")
        waits = await conversations.get("b")
        waits.session = None
        waits.queue("for later")
        now[0] = 59.0
        assert await conversations.close_idle() == []
        assert await conversations.get("a") is first
        now[0] = 100.0
        assert await conversations.close_idle() == []
        now[0] = 119.0
        assert await conversations.close_idle() == ["a"]
        assert ("a" in conversations, "b" in conversations) == (False, True)


async def ended(conversation: Conversation) -> None:
    while conversation.busy:  # noqa: ASYNC110  # the turn sets no event
        await anyio.sleep(0.001)


async def test_a_refused_turn_hands_everything_back(talk: Talk) -> None:  # noqa: F811
    view, ada = View(), Actor(app="telegram", id="ada")
    async with talk(ScriptedModel(say("fresh"))) as session, anyio.create_task_group() as group:
        shut = Conversation(group.start_soon, view, session)
        await session.close()
        shut.send("one", by=ada)
        shut.queue("two", by=ada)
        shut.queue("three")
        await ended(shut)
    assert [kind for kind, _ in view.log] == ["sent", "refused", "returned telegram:ada", "returned"]
    assert [text for kind, text in view.log if "returned" in kind] == ["one\ntwo", "three"]
    assert shut.queued == []
    async with talk(ScriptedModel(say("fresh"))) as session, anyio.create_task_group() as group:
        shut._spawn = group.start_soon
        shut.attach(session)
        shut.send("again")
        await follow(shut, lambda _: None, 1)
        assert [one.text for one in session.log if isinstance(one, User)] == ["again"]


async def test_a_message_waits_for_a_turn_that_somebody_else_began(talk: Talk) -> None:  # noqa: F811
    view = View()
    model = ScriptedModel(say("theirs", size=1, pause=0.005), say("ours"))
    async with talk(model) as session, anyio.create_task_group() as group:
        conversation = Conversation(group.start_soon, view, session)
        group.start_soon(follow, conversation, lambda _: None, 2)
        await anyio.lowlevel.checkpoint()
        group.start_soon(session.send, "theirs")
        while not session.busy:  # until it has begun
            await anyio.lowlevel.checkpoint()
        conversation.queue("ours")
        assert (conversation.busy, view.log) == (True, [])
    assert [one.text for one in session.log if isinstance(one, User)] == ["theirs", "ours"]
    assert view.log == [("sent", "ours")]


async def test_an_interrupt_hands_back_notes_of_others_too_and_each_under_its_name(talk: Talk) -> None:  # noqa: F811
    view, eve = View(), Actor(app="telegram", id="eve")
    async with (
        talk(ScriptedModel(say("an answer", size=1, pause=0.01))) as session,
        anyio.create_task_group() as group,
    ):
        conversation = Conversation(group.start_soon, view, session)

        def during(event: Any) -> None:
            if isinstance(event, TextDelta) and not conversation.steered:
                conversation.send("mine")
                assert session.steer("eve's", by=eve)
                conversation.stop()

        group.start_soon(follow, conversation, during, 1)
        await anyio.lowlevel.checkpoint()
        conversation.send("first")
        await ended(conversation)
    assert view.log == [("sent", "first"), ("returned", "mine"), ("returned telegram:eve", "eve's")]


async def test_taking_back_what_waits_leaves_the_notes_of_others_to_the_turn(talk: Talk) -> None:  # noqa: F811
    view, eve = View(), Actor(app="telegram", id="eve")
    model = ScriptedModel(say("an answer", size=1, pause=0.005), say("to eve"))
    async with talk(model) as session, anyio.create_task_group() as group:
        conversation = Conversation(group.start_soon, view, session)

        def during(event: Any) -> None:
            if isinstance(event, TextDelta) and not view.log[1:] and not conversation.steered:
                conversation.send("mine")
                assert session.steer("eve's", by=eve)
                assert conversation.take_waiting() == "mine"
                view.log.append(("took", "mine"))

        group.start_soon(follow, conversation, during, 2)
        await anyio.lowlevel.checkpoint()
        conversation.send("first")
        while len(view.log) < 3:  # noqa: ASYNC110  # the turn sets no event
            await anyio.sleep(0.001)
        await ended(conversation)
        said = [(one.text, one.origin) for one in session.log if isinstance(one, User)]
    assert said == [("first", "cli"), ("eve's", "telegram:eve")]


async def test_of_two_notes_with_the_same_words_the_one_that_arrived_is_told(talk: Talk) -> None:  # noqa: F811
    view, ada = View(), Actor(app="telegram", id="ada")
    arrived: list[list[str]] = []

    @hermes.tool
    async def look() -> str:
        """Look."""
        if not arrived:
            conversation.send("faster", by=ada)
        return "seen"

    model = ScriptedModel(call("look", {}), say("answer", size=2, pause=0.01), say("next"))
    async with talk(model, functions=(look,)) as session, anyio.create_task_group() as group:
        conversation = Conversation(group.start_soon, view, session)

        def during(event: Any) -> None:
            if isinstance(event, Added) and isinstance(event.message, ToolResult):
                conversation.send("faster", by=ada)
                arrived.append(conversation.arrived(event.message))
                assert [(one.source, one.text) for one in event.message.blocks] == [
                    ("telegram:ada", "faster")
                ]
                assert conversation.steered == ("faster",)

        group.start_soon(follow, conversation, during, 2)
        await anyio.lowlevel.checkpoint()
        conversation.send("first")
        while len(view.log) < 2:  # noqa: ASYNC110  # the turn sets no event
            await anyio.sleep(0.001)
        await ended(conversation)
    assert (arrived, view.log) == ([["faster"]], [("sent", "first"), ("sent", "faster")])


async def test_the_model_of_a_session_is_connected_to_while_somebody_types(talk: Talk) -> None:  # noqa: F811
    async with (
        talk(ScriptedModel(say("an answer", size=3, pause=0.005))) as session,
        anyio.create_task_group() as group,
    ):
        Conversation(group.start_soon, View()).typing()
        conversation, heads = Conversation(group.start_soon, View(), session), session.services.executor.http
        asked: list[str] = []

        async def note(request: Any) -> None:
            asked.append(request.method)

        heads.event_hooks["request"].append(note)
        conversation.typing()
        with anyio.fail_after(5):
            while not asked:
                await anyio.lowlevel.checkpoint()
        await session.close()
        conversation.typing()
        assert asked == ["HEAD"]
