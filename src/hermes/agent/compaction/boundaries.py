"""Where a log may be cut: calls stay with their results, and the end stays as it is."""

from collections.abc import Sequence

from hermes.agent.compaction.sizes import size
from hermes.types.message import Message


def head_end(messages: Sequence[Message], count: int) -> int:
    """How many messages at the beginning stay: `count`, and what belongs to the last of them.

    They never end in a user's words, so that what follows may speak in the user's place.
    """
    said = [at for at, one in enumerate(messages) if one.kind != "compaction"]
    end = min(count, len(said))
    while 0 < end < len(said) and (
        messages[said[end]].kind == "tool_result" or messages[said[end - 1]].kind == "user"
    ):
        end += 1
    return said[end - 1] + 1 if end else 0


def tail_start(messages: Sequence[Message], budget: int, least: int) -> int:
    """Where the end begins that stays as it is: as many steps as fit in so many tokens, at least `least`
    messages.

    A step is a user's words, or a reply with the results of its calls; it is never parted. One that begins
    within the budget belongs to the end if that stays under one and a half of it.
    """
    spent = count = 0
    start = len(messages)
    while start > 0 and (count < least or spent < budget):
        begin = _step_start(messages, start - 1)
        step = [one for one in messages[begin:start] if one.kind != "compaction"]
        spent += sum(map(size, step))
        if count >= least and spent > budget * 3 // 2:
            break
        start, count = begin, count + len(step)
    return start


def _step_start(messages: Sequence[Message], at: int) -> int:
    while at > 0 and messages[at].kind == "tool_result":
        at -= 1
    return at
