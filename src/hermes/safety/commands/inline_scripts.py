"""Texts among the words and the input of a program that it gives to a shell."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from hermes.safety.commands.code import SHELLS
from hermes.safety.commands.expansion import UNKNOWN, substituted
from hermes.safety.commands.options import after_options, operands, option_values
from hermes.safety.commands.script import Simple

_INLINE: Final = re.compile(r"-[a-zA-Z]*c[a-zA-Z]*|--command")
_WITH_VALUE: Final = re.compile(r"[-+][a-zA-Z]*[oO]|--(?:rcfile|init-file)")
EDITORS: Final = frozenset({"vi", "vim", "nvim", "view", "ex", "vimdiff", "gvim"})
_SAID: Final = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_EVALUATES: Final = frozenset(
    {"let", "test", "[", "[[", "printf", "read", "mapfile", "readarray", "getopts", "wait", "compgen"}
    | {"complete", "unset", "declare", "typeset", "local", "export", "readonly", "integer"}
)
"""Builtins that run what stands in an index of a name, `a[$(…)]`, also where the word was quoted."""
_WITH_NAMES: Final = frozenset({"test", "[", "[[", "printf"})


def inline_scripts(command: Simple) -> list[str]:
    """Texts that a program would give to a shell."""
    name, words = command.program, command.argv[1:]
    if name in SHELLS:
        return _shell_scripts(command)
    if name in {"make", "gmake"}:
        rules = command.input if "-" in option_values(words, "-f", "--file", "--makefile") else None
        return [line.lstrip("\t@-+ ") for line in (rules or "").split("\n") if line.startswith("\t")]
    if name == "gdb":
        told = option_values(words, "-ex", "--ex", "-eval-command", "--eval-command")
        return [found[1] for text in told if (found := re.match(r"\s*(?:shell\s|!)(.*)", text, re.DOTALL))]
    if name in EDITORS or name in {"less", "more", "ed"}:
        told = (
            option_values(words, "-c", "--cmd")
            + [one for one in words if one.startswith("+")]
            + (command.text or "").split("\n")
        )
        return [text[text.index("!") + 1 :] for text in told if "!" in text]
    if name in _EVALUATES and (name not in _WITH_NAMES or "-v" in words):
        given = (*words, *(text for _, text in command.assignments), *command.scope.texts())
        return [*substituted(given), *option_values(words, "-C")]
    if name in {".", "source"}:
        return [command.text if command.text is not None else UNKNOWN] if words and words[0] in _SAID else []
    take = _TAKERS.get(name)
    return take(words) if take is not None else []


def _shell_scripts(command: Simple) -> list[str]:
    """The script of `sh -c`, or what a shell without a file reads from a known input."""
    words, inline = iter(command.argv[1:]), False
    for word in words:
        if not word.startswith(("-", "+")):
            return [word] if inline else []
        inline = inline or bool(_INLINE.fullmatch(word))
        if _WITH_VALUE.fullmatch(word):
            next(words, None)
    if inline:
        return [UNKNOWN]
    return [command.input] if command.input is not None else []


def _ssh(words: Sequence[str]) -> list[str]:
    with_value = frozenset(f"-{letter}" for letter in "BbcDEeFIiJLlmOopQRSWw")
    rest = after_options(words, with_value)
    return [" ".join(word.replace(UNKNOWN, "$UNKNOWN_PART") for word in rest[1:])] if len(rest) > 1 else []


def _command_option(*names: str) -> Callable[[Sequence[str]], list[str]]:
    return lambda words: option_values(words, *names)


_TAKERS: Final[Mapping[str, Callable[[Sequence[str]], list[str]]]] = {
    "eval": lambda words: [" ".join(words)] if words else [],
    "trap": lambda words: operands(words)[:1] if len(words) > 1 else [],
    "ssh": _ssh,
    "su": _command_option("-c", "--command"),
    "runuser": _command_option("-c", "--command"),
    "script": _command_option("-c", "--command"),
    "flock": _command_option("-c", "--command"),
    "nix-shell": _command_option("--run", "--command"),
    "npx": _command_option("-c", "--call"),
    "npm": _command_option("-c", "--call"),
    "cmd": lambda words: [
        " ".join(words[at + 1 :]) for at, word in enumerate(words) if word.lower() in {"/c", "/k", "/r"}
    ][:1],
    "hyperfine": lambda words: operands(
        words, {"-w", "-r", "-m", "-M", "-N", "-n", "--warmup", "--runs", "--export-json"}
    ),
    "concurrently": lambda words: operands(words, {"-n", "-c", "--names", "--prefix-colors"}),
    "repo": _command_option("-c"),
    "sg": _command_option("-c"),
    "expect": lambda words: [re.sub(r"\bspawn\b", "", text) for text in option_values(words, "-c")],
    "fc": _command_option("-e"),
}
