"""What users set of screens."""

from typing import Annotated, Literal, get_args

from msgspec import Struct, field

from hermes.config.sections import Amount, doc, section

StatusItem = Literal["model", "goal", "context", "cost", "background", "protection", "directory"]


@section("display")
class DisplaySettings(Struct, frozen=True, kw_only=True):
    """The screen."""

    ascii: Annotated[bool, doc("Replace emoji and line-drawing characters by plain ones.")] = False
    bell: Annotated[bool, doc("Ring the terminal bell when an answer is needed or a long turn ends.")] = False
    notify: Annotated[
        Literal["", "off", "bell", "desktop"],
        doc("How to call you to a question and to the end of a long turn; empty: by the bell, if it is on."),
    ] = ""
    notify_after: Annotated[Amount, doc("Seconds after which a turn is a long one.")] = 10.0
    status: Annotated[
        list[StatusItem],
        doc("What stands in the status line, in this order; the protection stays also where it is left out."),
    ] = field(default_factory=lambda: list(get_args(StatusItem)))
    show_thinking: Annotated[bool, doc("Show the model's reasoning as it streams.")] = False
