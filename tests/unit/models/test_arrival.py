"""What a server sends in one piece is kept within bounds, however it comes."""

from itertools import repeat

import pytest

from hermes.models.transports.base import BadReplyError
from hermes.models.transports.common.arrival import MOST, BodyDetector, Events

PIECE = b"x" * 1_000_000
TOO_LONG = f"The server sent more than {MOST:,} bytes of a reply in one piece, or without an end."


@pytest.mark.parametrize("piece", [PIECE, b"data: " + PIECE + b"\n"], ids=["one line", "many lines"])
def test_an_event_without_an_end_is_given_up(piece: bytes) -> None:
    events = Events()
    with pytest.raises(BadReplyError, match=TOO_LONG):
        list(map(events.feed, repeat(piece, 40)))


def test_a_body_without_an_end_is_given_up() -> None:
    body = BodyDetector()
    with pytest.raises(BadReplyError, match=TOO_LONG):
        list(map(body.streamed, repeat(b"{" + PIECE, 40)))


def test_a_stream_without_an_end_is_given_up() -> None:
    events = Events()
    with pytest.raises(BadReplyError, match=TOO_LONG):
        list(map(events.feed, repeat(b"data: " + PIECE + b"\n\n", 300)))


def test_a_long_stream_is_read() -> None:
    events = Events()
    found = [events.feed(b"data: " + PIECE + b"\n\n: still here\n\n") for _ in range(40)]
    assert found == [[PIECE]] * 40
