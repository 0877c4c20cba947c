"""What users set of making room, and of who makes it."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from hermes.config.sections import doc, section

DEFAULT: Final = "compressor"


@section("context")
class ContextSettings(Struct, frozen=True, kw_only=True):
    """Who chooses what a model sees of a long session."""

    engine: Annotated[str, doc("The context manager's name; compressor is the one that comes with us.")] = (
        DEFAULT
    )


@section("compression")
class CompressionSettings(Struct, frozen=True, kw_only=True):
    """When a long conversation is summed up, and what of it stays as it is."""

    enabled: Annotated[bool, doc("Sum up older messages before the model's window is full.")] = True
    threshold: Annotated[
        float,
        Meta(ge=0, le=1),
        doc(
            "The share of the window that a request may fill before that happens. 0: three quarters, of"
            " windows from 512,000 tokens on a half."
        ),
    ] = 0.0
    threshold_percent: Annotated[
        float,
        Meta(ge=0, le=100),
        doc("The same in per cent, where threshold is 0; a number up to 1 is a share here, too."),
    ] = 0.0
    target_ratio: Annotated[
        float, Meta(ge=0.1, le=0.8), doc("The share of that which the last messages keep, as they are.")
    ] = 0.2
    protect_first_n: Annotated[
        int,
        Meta(ge=0),
        doc("How many messages at the beginning stay as they are; fewer where a request would not fit."),
    ] = 3
    protect_last_n: Annotated[
        int, Meta(ge=1), doc("How many messages at the end stay as they are, however long they are.")
    ] = 3

    @property
    def share(self) -> float:
        """The share that is set; 0 where none is."""
        percent = self.threshold_percent
        return self.threshold or (percent / 100 if percent > 1 else percent)
