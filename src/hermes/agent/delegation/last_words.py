"""What a session said last, as its log tells."""

from collections.abc import Sequence

from hermes.agent.stopping import without_stop
from hermes.lib.text import clip
from hermes.types.delegation import SUMMARY_LIMIT
from hermes.types.message import Assistant, Message


def last_words(log: Sequence[Message]) -> str:
    """Its last answer, or what it had of one, without the words that stand for a stop; cut to what a report
    may have.
    """
    words = (without_stop(one.text) for one in reversed(log) if isinstance(one, Assistant))
    return clip(next(filter(None, words), ""), SUMMARY_LIMIT)
