"""What a script that calls tools came to."""

from typing import Any, Literal

from msgspec import Struct, structs


class ScriptResult(Struct, frozen=True, kw_only=True):
    """The end of a script: `output` has both its streams as they came, head and tail where
    `stdout_truncated`, then `full_output` is the path of the whole.
    """

    status: Literal["success", "error", "timeout"]
    output: str
    exit_code: int
    tool_calls_made: int
    duration_seconds: float
    stdout_truncated: bool = False
    full_output: str = ""
    error: str = ""
    denied: str = ""

    def as_result(self) -> dict[str, Any]:
        """The fields of a tool's result; words that are empty are left out."""
        fields = structs.asdict(self)
        always = ("output", "stdout_truncated")
        return {name: one for name, one in fields.items() if name in always or one not in ("", None)}
