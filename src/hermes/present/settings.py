"""What users set of screens."""

from typing import Annotated

from msgspec import Struct

from hermes.config.sections import doc, section


@section("display")
class DisplaySettings(Struct, frozen=True, kw_only=True):
    """The screen."""

    ascii: Annotated[bool, doc("Replace emoji and line-drawing characters by plain ones.")] = False
    bell: Annotated[bool, doc("Ring the terminal bell when an answer is needed.")] = False
    show_thinking: Annotated[bool, doc("Show the model's reasoning as it streams.")] = False
