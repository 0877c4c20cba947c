"""What users set of tools and their output."""

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from hermes.config.sections import doc, section


@section("tool_output")
class ToolOutputSettings(Struct, frozen=True, kw_only=True):
    """How much output goes to the model."""

    max_bytes: Annotated[
        int, Meta(ge=1), doc("Characters of a command's output that the model gets, head and tail.")
    ] = 50_000
    max_lines: Annotated[int, Meta(ge=1), doc("Lines of a file that one read gives at most.")] = 2000
    max_line_length: Annotated[int, Meta(ge=1), doc("Characters of one line before it is clipped.")] = 2000
    keep_days: Annotated[
        int,
        Meta(ge=0),
        doc(
            "Days that uncut outputs, long results and shell states stay on disk after their last change;"
            " 0 keeps them."
        ),
    ] = 30


class ToolSearchSettings(Struct, frozen=True, kw_only=True):
    """Whether tools of one's own are shown to the model, or found by it."""

    enabled: Annotated[
        Literal["auto", "on", "off"], doc("Always (on), never (off), or where they are too much (auto).")
    ] = "auto"
    threshold_pct: Annotated[
        float, Meta(ge=0, le=100), doc("What is too much, in percent of the model's window.")
    ] = 10.0


@section("tools")
class ToolSettings(Struct, frozen=True, kw_only=True):
    """How tools are offered."""

    tool_search: Annotated[
        ToolSearchSettings,
        doc("Tools beside the built-in ones are not shown to the model but found by it."),
    ] = ToolSearchSettings()


@section("")
class ToolsetSettings(Struct, frozen=True, kw_only=True):
    """Which tools a model is offered."""

    toolsets: Annotated[list[str], doc("Toolsets offered to the model.")] = field(
        default_factory=lambda: ["hermes-cli"]
    )
