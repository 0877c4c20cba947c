"""The parts of a continued reply: one answer in the log, an unbroken conversation to the model."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.models.reliability.continuation import GO_ON, joined, repeated, spelled_out, to_be_continued
from hermes.types.message import CONTINUATION, Assistant, Message, Thinking, User
from hermes.types.usage import Usage

HI = User(id="1", at=0.0, text="hi")


def part(text: str, *, family: str = "claude", number: int = 0) -> Assistant:
    return Assistant(
        id="",
        at=0.0,
        text=text,
        thinking=(Thinking(text=f"thought {number}", signature=f"sig{number}"),),
        opaque=({"number": number},),
        stop="length",
        usage=Usage(input_tokens=100, output_tokens=10, requests=1),
        family=family,
    )


@given(st.lists(st.text("abc ", min_size=1, max_size=9), min_size=2, max_size=5))
def test_each_request_extends_the_one_before_and_the_log_extends_the_last(texts: list[str]) -> None:
    whole = part(texts[0])
    requests: list[tuple[Message, ...]] = []
    for number, text in enumerate(texts[1:], 1):
        requests.append(spelled_out((HI, to_be_continued(whole))))
        whole = joined(whole, part(text, number=number))
    later = spelled_out((HI, replace(whole, id="2", at=1.0), replace(HI, id="3")))
    for shorter, longer in zip(requests, [*requests[1:], later], strict=True):
        assert longer[: len(shorter)] == shorter
    assert whole.text == "".join(texts)


@given(st.lists(st.booleans(), max_size=6), st.integers(0, 6), st.booleans())
def test_what_was_spelled_out_before_changes_nothing(cut: list[bool], sent: int, same: bool) -> None:
    """Neither where the log extends it nor where it says something else by now."""
    replies = (joined(part("Half"), part(" more")) if each else part("Whole") for each in cut)
    log = tuple(replace(reply, id=str(number)) for number, reply in enumerate(replies))
    before = spelled_out(log[:sent] if same else (HI, *log[1:sent]))
    assert spelled_out(log, before) == spelled_out(log)


def test_the_model_sees_each_part_with_its_own_reasoning_and_what_asked_for_more() -> None:
    whole = replace(joined(part("Half"), part(" more", number=1)), id="2", at=1.0)
    assert spelled_out((HI, whole)) == (
        HI,
        replace(part("Half"), id="1+", usage=Usage()),
        User(id="1++", at=0.0, text=GO_ON, origin=CONTINUATION),
        replace(part(" more", number=1), id="2", at=1.0, usage=whole.usage),
    )


def test_what_another_family_signed_is_not_kept() -> None:
    whole = joined(joined(part("a"), part("b", number=1)), part("c", family="gpt", number=2))
    thoughts = [(one.text, one.signature) for one in whole.thinking]
    assert thoughts == [("thought 0", ""), ("thought 1", ""), ("thought 2", "sig2")]
    assert (whole.text, whole.opaque, whole.usage.requests) == ("abc", ({"number": 2},), 3)


def test_a_continuation_that_says_nothing_new_ends_the_reply() -> None:
    said = "This is the end of what there is to say."
    whole = joined(part(said), replace(part(said), stop="end"))
    assert (whole.text, whole.stop, whole.cuts, whole.usage.requests) == (said, "end", (), 2)


def test_only_what_can_hardly_be_meant_counts_as_repeated() -> None:
    before = "and so the last of the lines ends here"
    assert repeated(before, "the last of the lines ends here, and") == len("the last of the lines ends here")
    assert repeated(before, "here and there") == 0
    assert repeated("-" * 60, "-" * 60) == 0
    assert repeated(before, "something else altogether") == 0
