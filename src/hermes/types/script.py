"""A script that calls tools, and what it came to."""

from typing import Any, Final, Literal

from msgspec import Struct, structs

EMPTY_FOLDER: Final = "HERMES_EMPTY_FOLDER"
"""The variable that names a strict script's folder."""


class Script(Struct, frozen=True, kw_only=True):
    """Python to run, in an empty folder of its own where it is `strict`."""

    code: str
    strict: bool = False

    @property
    def command(self) -> str:
        """The shell command that runs it; the whole script is in it, for whoever decides about it."""
        lines, mark = set(self.code.splitlines()), "HERMES_CODE"
        while mark in lines:
            mark += "_"
        text = self.code if self.code.endswith("\n") else f"{self.code}\n"
        where = f'cd -- "${EMPTY_FOLDER}" && ' if self.strict else ""
        return f"{where}python3 - <<'{mark}'\n{text}{mark}\n"


class KernelUse(Struct, frozen=True, kw_only=True):
    """Whether a script ran in a kernel, which keeps variables: one that was `started` for it, or `kept` from
    the script before, one that has `ended` with it, or why not; `lost` says why variables are gone.
    """

    state: str
    lost: str = ""


class ScriptResult(Struct, frozen=True, kw_only=True):
    """The end of a script. `output` is its standard output, head and tail where `stdout_truncated`, then the
    numbers say how many bytes of it there are and `full_output` is the path of the whole; `stderr` is what it
    wrote there, or what of it has room, with the whole at `full_stderr`. `kernel` and `variables_lost` are
    as `KernelUse` has them.
    """

    status: Literal["success", "error", "timeout"]
    output: str
    exit_code: int
    tool_calls_made: int
    duration_seconds: float
    stderr: str = ""
    stdout_truncated: bool = False
    stdout_bytes_captured: int | None = None
    stdout_bytes_total: int | None = None
    stdout_bytes_omitted: int | None = None
    full_output: str = ""
    full_stderr: str = ""
    kernel: str = ""
    variables_lost: str = ""
    error: str = ""
    denied: str = ""

    def as_result(self) -> dict[str, Any]:
        """The fields of a tool's result; words that are empty and numbers that say nothing are left out."""
        fields = structs.asdict(self)
        always = ("output", "stdout_truncated")
        return {name: one for name, one in fields.items() if name in always or one not in ("", None)}
