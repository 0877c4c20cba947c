"""Event frames: what botocore's decoder reads is what ours reads, however the bytes are cut, and a changed byte is noticed."""

import itertools
import struct
from zlib import crc32

import pytest
from botocore.eventstream import EventStreamBuffer  # type: ignore[import-untyped]  # it ships no types
from hypothesis import given
from hypothesis import strategies as st

from hermes.models.transports.base import BadReplyError
from hermes.models.transports.bedrock.eventstream import Frame, Frames
from tests.wire.frames import event, frame

VALUES = {
    0: b"", 1: b"", 2: b"\x07", 3: b"\x00\x01", 4: b"\x00" * 4, 5: b"\x01" * 8, 6: b"\x00\x03abc", 7: b"\x00\x03\xc3\xbcx", 8: b"\x02" * 8, 9: b"u" * 16,
}  # fmt: skip
HEADERS = st.lists(st.tuples(st.sampled_from([":event-type", ":other", "ü"]), st.sampled_from(sorted(VALUES))), max_size=4, unique_by=lambda one: one[0])  # fmt: skip
STREAM = (
    event("messageStart", {"role": "assistant"})
    + event("contentBlockDelta", {"delta": {"text": "Hi"}})
    + event("metadata", {})
)


def framed(headers: list[tuple[str, int]], payload: bytes) -> bytes:
    """A frame whose headers have values of any type."""
    head = b"".join(
        bytes([len(name.encode())]) + name.encode() + bytes([kind]) + VALUES[kind] for name, kind in headers
    )
    start = struct.pack(">II", 16 + len(head) + len(payload), len(head))
    whole = start + struct.pack(">I", crc32(start)) + head + payload
    return whole + struct.pack(">I", crc32(whole))


def theirs(data: bytes) -> list[tuple[str, bytes]]:
    buffer = EventStreamBuffer()
    buffer.add_data(data)
    return [
        (value if isinstance(value := one.headers.get(":event-type", ""), str) else "", one.payload)
        for one in buffer
    ]


@given(
    st.lists(st.tuples(HEADERS, st.binary(max_size=30)), min_size=1, max_size=4),
    st.lists(st.integers(0, 300), max_size=4),
)
def test_frames_are_read_as_by_botocore_wherever_they_are_cut(
    frames: list[tuple[list[tuple[str, int]], bytes]], cuts: list[int]
) -> None:
    data, reader, found = b"".join(framed(*one) for one in frames), Frames("a reply"), list[Frame]()
    places = sorted({0, *(cut for cut in cuts if cut < len(data)), len(data)})
    for start, end in itertools.pairwise(places):
        found += reader.feed(data[start:end])
    assert [(one.name, one.payload) for one in found] == theirs(data)


@pytest.mark.parametrize("place", range(len(STREAM)))
def test_a_byte_that_changed_on_the_way_is_noticed(place: int) -> None:
    broken = STREAM[:place] + bytes([STREAM[place] ^ 0x55]) + STREAM[place + 1 :]
    with pytest.raises(
        BadReplyError, match="not a reply: (the beginning of )?a frame does not match its checksum"
    ):
        Frames("a reply").feed(broken)


@pytest.mark.parametrize(
    "head", [b"\x09ab", b"\x01a\x07\x00\x09abc", b"\x01a\x0bxx", b"\x02\xff\xff\x07\x00\x01a"]
)
def test_headers_that_make_no_sense_are_said_to_be_broken(head: bytes) -> None:
    start = struct.pack(">II", 16 + len(head), len(head))
    whole = start + struct.pack(">I", crc32(start)) + head
    with pytest.raises(BadReplyError, match="broken headers"):
        Frames("a reply").feed(whole + struct.pack(">I", crc32(whole)))


def test_errors_say_what_they_are() -> None:
    data = frame({":message-type": "error", ":error-code": "Slow", ":error-message": "Wait."}, b"")
    data += frame(
        {":message-type": "exception", ":exception-type": "throttlingException"}, b'{"message": "Too many."}'
    )
    assert Frames("a reply").feed(data) == [
        Frame("error", "Slow", b"", "Wait."),
        Frame("exception", "throttlingException", b'{"message": "Too many."}', "Too many."),
    ]
