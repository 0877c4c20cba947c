"""What a command line was read into: the programs that it would start."""

from dataclasses import dataclass, field
from functools import lru_cache

from hermes.safety.commands.expansion import VariableScope
from hermes.safety.commands.known_output import printed


@dataclass(frozen=True, slots=True, kw_only=True)
class Simple:
    """One program start. Unknown parts of words are `UNKNOWN`.

    `writes` and `reads` are files of redirections, `sources` the commands whose output it reads, `text` its
    known input; `through` names the wrappers around it, such as sudo; `line` is its source.
    """

    argv: tuple[str, ...]
    cwd: str
    line: str = ""
    assignments: tuple[tuple[str, str], ...] = ()
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    sources: tuple["Simple", ...] = ()
    text: str | None = None
    through: tuple[str, ...] = ()
    scope: VariableScope = field(default_factory=lambda: VariableScope(cwd="/"), compare=False, repr=False)

    @property
    def program(self) -> str:
        """The program's plain name: no folder, no case, no `.exe`, none of the marks that other shells
        ignore.
        """
        return program_name(self.argv[0]) if self.argv else ""

    @property
    def output(self) -> str | None:
        """What it prints, where that is known."""
        return printed(self.program, self.argv[1:], self.input)

    @property
    def input(self) -> str | None:
        """What it reads, where that is known."""
        if self.text is not None:
            return self.text
        return self.sources[0].output if len(self.sources) == 1 and not self.reads else None


@dataclass(slots=True)
class ShellScript:
    """The simple commands of a command line in order, what made parts of it unreadable, and loops that go on
    behind it.
    """

    commands: list[Simple] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    bombs: list[str] = field(default_factory=list)
    loops: list[str] = field(default_factory=list)


@lru_cache(maxsize=4096)
def program_name(word: str) -> str:
    """A program's plain name: no folder, no case, no `.exe`, none of the marks that other shells ignore."""
    name = word.replace("^", "").rpartition("\\")[2].rstrip("/").rpartition("/")[2] or word
    return name.lower().removesuffix(".exe")
