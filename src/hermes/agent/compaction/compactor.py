"""The default way to make room: old results in short, then a record of the older part, then long messages
cut.

All that is known of earlier compactions stands in the log, so that a session goes on in another process as it
would have here.
"""

from typing import Final
from weakref import WeakKeyDictionary

from msgspec import Struct, field
from msgspec.structs import replace

from hermes.agent.compaction import summary
from hermes.agent.compaction.boundaries import head_end, tail_start
from hermes.agent.compaction.settings import CompressionSettings
from hermes.agent.compaction.sizes import counted, total, written
from hermes.agent.compaction.view import place, shown, since
from hermes.agent.context import ContextRequest
from hermes.agent.log import Log
from hermes.agent.todos import from_log, last_plan
from hermes.lib.text import CHARACTERS, tokens
from hermes.types.error import ContextOverflow
from hermes.types.message import Compaction, Message
from hermes.types.ports import Ports

WIDE: Final = 512_000
"""Windows from so many tokens on are filled to a half, others to three quarters, where no share is set."""
SHARE_OF_WIDE, SHARE = 0.5, 0.75
RATIO, LEAST, MOST, OF_WINDOW, SMALLEST = 0.2, 2_000, 12_000, 0.05, 256
"""Tokens of a record: a fifth of what it stands for, within these limits, and of the window at most this
share (but so many tokens anyway).
"""
ENOUGH: Final = 0.7
"""Short forms alone are enough when they bring a request under this share of its limit."""
LITTLE: Final = 0.1
"""A compaction that saved less than this share was of little use."""
USELESS: Final = 0.99
"""One that would leave more than this share of the request changes nothing of what is seen."""
GROWN: Final = 1.5
"""A request so many times as large as one where little was saved, as after a change to a model with a larger
window, is another matter.
"""
COOL_DOWN: Final = 600.0
"""Seconds in which no model is asked for a record after none could be had."""


def fixed(wanted: ContextRequest) -> int:
    """Tokens of the system prompt and the tools."""
    return tokens(wanted.system) + sum(tokens(written(one)) for one in wanted.tools)


class RequestLimits(Struct, frozen=True):
    """Tokens: of a request, of the end that stays as it is, and of a record of so many tokens."""

    request: int
    tail: int
    window: int

    def record(self, left_out: int) -> int:
        """The room of a record that stands for so many tokens."""
        most = max(SMALLEST, int(min(MOST, self.window * OF_WINDOW)))
        return min(most, max(LEAST, int(left_out * RATIO)))

    def head(self, taken: int) -> int:
        """The room of the first messages beside so many tokens that every request takes: with more of them
        little would be saved each time, or the request would not fit.
        """
        return int(self.request * (1 - LITTLE)) - taken - self.tail - self.record(self.request)


class Compactor(Struct, frozen=True):
    """Shows a log with its last compaction applied, and makes new ones."""

    settings: CompressionSettings
    _views: WeakKeyDictionary[Compaction, tuple[Message, ...]] = field(default_factory=WeakKeyDictionary)

    def messages(self, log: Log) -> tuple[Message, ...]:
        """The messages of the next request; each extends the one before it unless room was made."""
        at = log.compacted
        entry = log.messages[at] if at >= 0 else None
        if not isinstance(entry, Compaction):
            return since(log)
        if entry not in self._views:
            self._views[entry] = shown(log.messages, at)
        return (*self._views[entry], *since(log))

    def is_full(self, wanted: ContextRequest) -> bool:
        """Whether room is to be made before the next request, which would be of some use."""
        if not self.settings.enabled or wanted.log.open:
            return False
        size = self.size(wanted)
        return size >= self.limits(wanted).request and not thrashes(wanted.log, size)

    def size(self, wanted: ContextRequest) -> int:
        """Tokens of the next request: what the last one took, as the provider counted it, and what came
        since.
        """
        known, count = counted(wanted.log.messages)
        if count:
            return known + total(wanted.log.messages[count:])
        return fixed(wanted) + total(self.messages(wanted.log))

    def limits(self, wanted: ContextRequest, overflow: ContextOverflow | None = None) -> RequestLimits:
        """What a request to this endpoint may hold; an endpoint that said how much it takes is believed, one
        that only refused gets a good deal less.
        """
        window = wanted.endpoint.context_window
        if overflow is not None:
            window = min(window, overflow.failure.window or int(self.size(wanted) * SHARE))
        share = self.settings.share or (SHARE_OF_WIDE if window >= WIDE else SHARE)
        request = int(share * (window - min(wanted.reply, window // 2)))
        return RequestLimits(request=request, tail=int(request * self.settings.target_ratio), window=window)

    async def make_room(
        self, wanted: ContextRequest, *, overflow: ContextOverflow | None = None, focus: str | None = None
    ) -> Compaction | None:
        """An entry that stands for older messages, to be appended; None where nothing can be left out.

        With a `focus` a record is written also where short forms would be enough. What is made before a
        request, and neither asked for nor demanded, is also told of where it saved nothing: an attempt that
        left no trace would be made again before each of the next requests.
        """
        limits, before = self.limits(wanted, overflow), self.size(wanted)
        if focus is not None:
            limits = replace(limits, tail=min(limits.tail, int(before * self.settings.target_ratio)))
        scale = before / max(1, fixed(wanted) + total(self.messages(wanted.log)))
        room = limits.head(int(fixed(wanted) * scale))
        kept = _Division.of(wanted.log, self.settings, limits, int(room / scale))
        entry = kept.in_short(wanted.ports)
        after = self._after(wanted, entry, scale)
        if focus is not None or after > limits.request * ENOUGH or after > before * (1 - LITTLE):
            entry = await self._recorded(wanted, kept, limits, focus)
            after = self._after(wanted, entry, scale)
        if after > limits.request:
            entry, after = self._clipped(wanted, entry, limits, scale)
        if after < before * USELESS:
            return replace(entry, before=before, after=after)
        return _in_vain(entry, before) if focus is None and overflow is None else None

    def weighed(self, wanted: ContextRequest, entry: Compaction) -> Compaction | None:
        """An entry made elsewhere, with the tokens before and after it; None where it saves nothing."""
        before = self.size(wanted)
        after = self._after(wanted, entry, before / max(1, fixed(wanted) + total(self.messages(wanted.log))))
        return replace(entry, before=before, after=after) if after < before * USELESS else None

    async def _recorded(
        self, wanted: ContextRequest, kept: "_Division", limits: RequestLimits, focus: str | None
    ) -> Compaction:
        """The entry with a record of all that is not kept; without a model's words it is an outline."""
        messages, words = wanted.log.messages, ""
        rests = focus is None and _cools_down(wanted)  # a person who asks for it does not wait
        asks = wanted.asked_window > 0 and not rests
        if not (kept.unrecorded if asks else kept.fresh):
            return kept.in_short(wanted.ports)
        budget = limits.record(total(one for _, one in kept.unrecorded))
        if asks:
            words = await self._asked(wanted, kept, budget, focus or "")
        left_out = summary.numbered(messages, kept.head, kept.cut)
        return Compaction(
            id=wanted.ports.token(),
            at=wanted.ports.now(),
            summary=wanted.redact(words or summary.outline(left_out, budget)),
            verbatim=wanted.redact(summary.verbatim(left_out, kept.plan, max(SMALLEST, limits.tail // 2))),
            first_kept=messages[kept.cut].id,
            head=kept.head,
            dropped=len(left_out),
            focus=focus or "" if words else "",
            fallback=not words,
        )

    async def _asked(self, wanted: ContextRequest, kept: "_Division", budget: int, focus: str) -> str:
        """The words of a model, asked once more where its first ones are no record."""
        before, entries = kept.record.summary if kept.record else "", kept.unrecorded
        window = int(wanted.asked_window * SHARE)
        room = max(SMALLEST, window - budget - tokens(summary.instructions()) - tokens(before))
        question = summary.question(entries, before=before, budget=budget, focus=focus, room=room)
        question = replace(question, text=wanted.redact(question.text))
        for _ in range(2):
            answer = await wanted.ask(question)
            if answer is None:
                return ""
            words = summary.accepted(answer, first=entries[0][0], last=kept.cut, budget=budget)
            if words:
                return words
        return ""

    def _clipped(
        self, wanted: ContextRequest, entry: Compaction, limits: RequestLimits, scale: float
    ) -> tuple[Compaction, int]:
        """The entry with a limit for single messages, the largest of some with which the request fits."""
        for part in (2, 4, 8, 16, 32):
            entry = replace(entry, clip=max(SMALLEST, limits.request * CHARACTERS // part))
            after = self._after(wanted, entry, scale)
            if after <= limits.request:
                break
        return entry, after

    def _after(self, wanted: ContextRequest, entry: Compaction, scale: float) -> int:
        view = shown((*wanted.log.messages, entry), len(wanted.log.messages))
        return int((fixed(wanted) + total(view)) * scale)


class _Division(Struct, frozen=True, kw_only=True):
    """How a log is divided: a head, what is left out (of which some was before), and an end from `cut` on."""

    messages: tuple[Message, ...]
    previous: Compaction | None
    head: int
    start: int
    cut: int

    @classmethod
    def of(cls, log: Log, settings: CompressionSettings, limits: RequestLimits, room: int) -> "_Division":
        """The division in which as many of the first messages stay as find room in so many tokens."""
        messages = log.messages
        entry = messages[log.compacted] if log.compacted >= 0 else None
        previous = entry if isinstance(entry, Compaction) and entry.dropped else None
        heads = [head_end(messages, count) for count in range(settings.protect_first_n, -1, -1)]
        if previous:  # a first message that was left out does not come back
            heads = [previous.head, *(one for one in heads if one < previous.head)]
        head = next(one for one in heads if not one or total(messages[:one]) <= room)
        start = place(messages, previous.first_kept, len(messages)) if previous else head
        cut = tail_start(messages, limits.tail, settings.protect_last_n)
        return cls(messages=messages, previous=previous, head=head, start=start, cut=max(cut, start))

    @property
    def fresh(self) -> list[summary.Numbered]:
        """What no entry stands for yet."""
        return self._without(self.previous, self.start)

    @property
    def record(self) -> Compaction | None:
        """The last record that a model wrote: an outline is none."""
        entries = (one for one in reversed(self.messages) if isinstance(one, Compaction) and one.dropped)
        return next((one for one in entries if not one.fallback), None)

    @property
    def unrecorded(self) -> list[summary.Numbered]:
        """What no such record stands for yet."""
        record = self.record
        begin = place(self.messages, record.first_kept, self.start) if record else self.head
        return self._without(record, begin)

    def _without(self, entry: Compaction | None, begin: int) -> list[summary.Numbered]:
        """What is left out from a place on, and of the first messages those that stay no longer since an
        entry.
        """
        first = summary.numbered(self.messages, self.head, entry.head) if entry else []
        return [*first, *summary.numbered(self.messages, begin, self.cut)]

    @property
    def plan(self) -> list[dict[str, str]]:
        """The plan as it is, where it is left out; none where it stands in what is kept."""
        is_left_out = self.head <= last_plan(self.messages) < self.cut
        return from_log(self.messages).read() if is_left_out else []

    def in_short(self, ports: Ports) -> Compaction:
        """An entry that leaves nothing more out, and shows what is not among the end in short."""
        previous = self.previous
        made = Compaction(id=ports.token(), at=ports.now(), summary="", first_kept="", head=self.head)
        if previous:
            made = replace(previous, id=made.id, at=made.at, clip=0)
        elif self.head < len(self.messages):
            made = replace(made, first_kept=self.messages[self.head].id)
        digested = self.messages[self.cut].id if self.cut < len(self.messages) else ""
        return replace(made, digested=digested)


def thrashes(log: Log, size: int = 0) -> bool:
    """Whether the last two compactions saved little, of requests about as large as one of `size` tokens:
    another one would not help.
    """
    last = [one for one in log.messages if isinstance(one, Compaction) and one.before][-2:]
    if len(last) < 2 or max(size, last[1].before) > last[0].before * GROWN:
        return False
    return all(one.after > one.before * (1 - LITTLE) for one in last)


def _in_vain(entry: Compaction, before: int) -> Compaction:
    """What tells of an attempt that saved nothing, and whether a model failed to write a record for it."""
    return Compaction(
        id=entry.id,
        at=entry.at,
        summary="",
        first_kept="",
        fallback=entry.fallback,
        before=before,
        after=before,
    )


def _cools_down(wanted: ContextRequest) -> bool:
    """Whether no model wrote a record a short time ago, though one was asked.

    An outline that was made while none was asked does not make that time any longer.
    """
    asked = 0.0
    for one in wanted.log.messages:
        if isinstance(one, Compaction):
            asked = 0.0 if not one.fallback else one.at if one.at - asked >= COOL_DOWN else asked
    return bool(asked) and wanted.ports.now() - asked < COOL_DOWN
