"""The programs in the files of a skill: scripts, and what stands between fences in its texts."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from hermes.lib.lazy import import_object

_LANGUAGES: Final = {
    **dict.fromkeys(("sh", "bash", "shell", "zsh", "dash", "ksh", "fish", "console", "terminal"), "sh"),
    **dict.fromkeys(("shellsession", "shell-session", "command"), "sh"),
    **dict.fromkeys(("py", "pyw", "python", "python2", "python3", "pycon", "ipython"), "python3"),
    **dict.fromkeys(("js", "javascript", "node", "mjs", "cjs", "jsx", "ts", "typescript", "tsx"), "node"),
}
_DATA: Final = frozenset(
    {
        *("bib", "cfg", "conf", "css", "csv", "diff", "dot", "dotenv", "env", "example", "graphql", "html"),
        *(
            "http",
            "ini",
            "j2",
            "json",
            "json5",
            "jsonc",
            "jsonl",
            "latex",
            "markdown",
            "md",
            "mdx",
            "mermaid",
        ),
        *(
            "properties",
            "rst",
            "service",
            "sql",
            "svg",
            "template",
            "tex",
            "tmpl",
            "toml",
            "tree",
            "tsv",
            "xml",
            "yaml",
        ),
        "yml",
    }
)
"""Languages, and endings of names, of what no program runs by itself."""
_READ: Final = frozenset({"text", "txt", "plain", "output", "log"})
"""Languages of blocks that are there to be read, whatever stands in them."""
_TEXTS: Final = frozenset({".md", ".markdown", ".mdx", ".rst", ".txt"})
_SHEBANG: Final = re.compile(r"\A#!\s*(\S+)[ \t]*([^\n]*)")
_PROMPT: Final = re.compile(r"^\s*[$❯>] ", re.MULTILINE)


class SkillProgram(Struct, frozen=True, kw_only=True):
    """Code with the line that it begins in and its language: `sh`, `python3`, `node`, or "" for one that is
    not read. `certainty`: it is a program, a block that does not say what it is, or words between others.
    """

    line: int
    language: str
    code: str
    certainty: Literal["program", "block", "words"] = "program"

    @property
    def command(self) -> str:
        """A command line that would run it."""
        if self.language == "sh":
            return self.code
        end = f"END_{hashlib.sha256(self.code.encode()).hexdigest()[:16]}"  # which no text has within itself
        return f"{self.language} - <<'{end}'\n{self.code}\n{end}"


def programs(path: str, text: str) -> Iterator[SkillProgram]:
    """The programs in a file: it is one, or it is a text with some, or data without any."""
    name, suffix = Path(path).name, Path(path).suffix.lower()
    if (shebang := _SHEBANG.match(text)) is not None:
        yield SkillProgram(line=1, language=_LANGUAGES.get(_runner(shebang), ""), code=text)
    elif suffix in _TEXTS or (not suffix and name.isupper()):
        yield from _in_markdown(text)
    elif suffix[1:] not in _DATA:
        yield SkillProgram(line=1, language=_LANGUAGES.get(suffix[1:], ""), code=text)


def _runner(shebang: re.Match[str]) -> str:
    words = [shebang[1], *shebang[2].split()]
    names = [Path(one).name for one in words if one[0] != "-" and "=" not in one]
    return next((one for one in names if one != "env"), "")


def _in_markdown(text: str) -> Iterator[SkillProgram]:
    """Blocks of code, also in lists and quotations, and code between words."""
    for token in import_object("markdown_it:MarkdownIt")("commonmark").parse(text):
        line = (token.map or [0])[0] + 1
        for inner in token.children or ():
            if inner.type == "code_inline":
                yield SkillProgram(line=line, language="sh", code=inner.content, certainty="words")
        if token.type in {"fence", "code_block"}:
            yield from _of_block(line + (token.type == "fence"), token.info, token.content)


def _of_block(line: int, info: str, code: str) -> Iterator[SkillProgram]:
    language = info.strip().partition(" ")[0].strip("{}.").lower()
    if not language:
        yield SkillProgram(line=line, language="sh", code=_PROMPT.sub("", code), certainty="block")
    elif language in _READ:
        yield SkillProgram(line=line, language="sh", code=_PROMPT.sub("", code), certainty="words")
    elif language not in _DATA:
        known = _LANGUAGES.get(language, "")
        yield SkillProgram(line=line, language=known, code=_PROMPT.sub("", code) if known == "sh" else code)
