"""What users set of scripts that call tools."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from hermes.config.sections import doc, section


@section("code_execution")
class CodeExecutionSettings(Struct, frozen=True, kw_only=True):
    """Python scripts that call tools."""

    mode: Annotated[
        Literal["project", "strict"],
        doc(
            "Where a script runs: in the directory of the terminal, with what its python3 can import"
            " (project), or in an empty folder of its own (strict)."
        ),
    ] = "project"
    kernel: Annotated[
        bool,
        doc(
            "Keep variables from one script to the next, in one Python process in the sandbox; on machines"
            " elsewhere and without a sandbox each script has a process of its own."
        ),
    ] = False
    timeout: Annotated[int, Meta(ge=1), doc("Seconds that a script may take.")] = 300
    max_stderr_chars: Annotated[
        int, Meta(ge=100), doc("Characters of its standard error that come back; of more the middle is cut.")
    ] = 10_000
    max_tool_calls: Annotated[int, Meta(ge=0), doc("Calls of tools that one script may make.")] = 50
