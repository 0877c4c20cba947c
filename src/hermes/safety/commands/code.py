"""Whether a piece of program text in another language may do more than compute and print."""

import ast
import re
import shlex
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from hermes.safety.commands.expansion import UNKNOWN
from hermes.safety.commands.options import has_option, operands, option_values
from hermes.safety.commands.script import Simple

SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "mksh", "rbash", "csh", "tcsh"})
_SWITCHES: Final[Mapping[str, tuple[str, ...]]] = {
    "python": ("-c",),
    "pypy": ("-c",),
    "node": ("-e", "--eval", "-p", "--print", "-r"),
    "nodejs": ("-e", "--eval", "-p", "--print"),
    "deno": ("eval",),
    "bun": ("-e", "--eval"),
    "perl": ("-e", "-E"),
    "ruby": ("-e",),
    "php": ("-r", "-B", "-R", "-E"),
    "lua": ("-e",),
    "luajit": ("-e",),
    "rscript": ("-e",),
    "julia": ("-e", "-E"),
    "osascript": ("-e",),
    "tclsh": (),
    "elixir": ("-e",),
    "groovy": ("-e",),
    "scala": ("-e",),
}
_SAFE_MODULES: Final = frozenset({"os", "sys", "pathlib", "shutil", "subprocess", "importlib", "builtins"})
_CALLS: Final = frozenset(
    {"eval", "exec", "compile", "__import__", "getattr", "setattr", "globals", "vars", "locals"}
    | {"breakpoint", "delattr"}
)
_ATTRIBUTES: Final = re.compile(
    r"system|popen\d?|spawn\w*|exec[lv]\w*|fork\w*|remove\w*|unlink|rmdir|rmtree|rename\w*|replace_file|truncate|chmod|lchmod|chown|lchown|link|symlink\w*"
    r"|kill\w*|putenv|setuid|setgid|chroot|move|copy\w*|write_text|write_bytes|touch|makedirs|mkdir|import_module|run|call|check_\w+|Popen|getoutput"
    r"|getstatusoutput|connect|create_connection|urlopen|urlretrieve|sendall|sendmail|make_archive|unpack_archive|extractall|loads?_dll|CDLL|__\w+__"
)
_RISKY_MODULES: Final = frozenset(
    {"subprocess", "socket", "ctypes", "pty", "ftplib", "smtplib", "telnetlib", "paramiko", "fabric"}
    | {"pexpect", "sh", "code", "runpy", "marshal", "webbrowser", "http.client"}
)
_SENDING: Final = frozenset({"post", "put", "patch", "delete", "request"})
_CLIENTS: Final = frozenset({"requests", "httpx", "aiohttp", "session", "client", "urllib3", "http"})
_HARMLESS_OWNERS: Final = frozenset(
    {"str", "re", "copy", "dict", "list", "json", "df", "text", "s", "line", "np", "pd"}
)
_OTHER: Final = re.compile(
    r"\b(?:system|exec\w*|spawn\w*|popen\w*|passthru|shell_exec|proc_open|\w*fork|syscall|unlink\w*|rmdir\w*|rmtree|rm_rf|rm_r|rm_f|rmSync|remove_\w+|removeSync"
    r"|file delete|delete_\w+|File::Path"
    r"|rm|remove|rename\w*|truncate\w*|chmod\w*|chown\w*|symlink\w*|kill|eval|assert|child_process|process\.binding|FileUtils|File\.(?:delete|write|open|rename)|IO\.\w*write|Kernel"
    r"|write_?[fF]ile\w*|appendFile\w*|createWriteStream|copyFile\w*|cp_r|mkdir\w*|file_put_contents|fopen|net\.|dgram|Socket|TCPSocket|Net::|open-uri|fsockopen|curl_exec"
    r"|fetch|XMLHttpRequest|send|public_send|instance_eval|class_eval|const_get|constantize|Function|vm\.|do"
    r" shell script"
    r"|require\s*\(?\s*[^'\"\s(]|load|dl_open|os\.execute|io\.popen)\b"
    r"|(?:https?|ftp)://(?!localhost|127\.)|`|%x|\bopen\s*\(?[^)]*[|>+]|\bqx\b"
)
_STARTS: Final = re.compile(
    r"\b(?:system|exec\w*|popen\w*|spawn\w*|run|call|check_\w+|getoutput|shell_exec|passthru|os\.execute|do"
    r" shell script|qx|shell-command)"
    r"\s*\(?\s*(?P<mark>['\"])(?P<text>(?:(?!(?P=mark)).)+)(?P=mark)|`(?P<quoted>[^`]+)`",
    re.DOTALL,
)
_STARTS_LIST: Final = re.compile(
    r"\b(?:exec\w*|popen|spawn\w*|run|call|check_\w+|Popen|system)\s*\(\s*(?:\[\s*)?((?:['\"][^'\"]*['\"]\s*,?\s*(?:\[\s*)?){2,})"
)
_DELETES: Final = re.compile(
    r"\b(?:rmtree|rm_rf|rm_r|rmSync|rmdirSync|removeSync|remove_dir_all|rimraf|remove_entry_secure)\s*\(?\s*(?:[\w.]+\(\s*)*"
    r"['\"]([^'\"]+)['\"]"
)
_REMOVES: Final = re.compile(r"\b(?:remove|unlink\w*|rm\w*)\b")
_WALKS: Final = re.compile(
    r"\b(?:\w*walk|r?glob|scandir|listdir|readdir\w*|Path|children|entries)\s*\(\s*['\"](/|~)/?['\"]"
)
_EXPANDS: Final = re.compile(r"\b(?:[\w.]+\.)?expanduser\(\s*(['\"][^'\"]*['\"])\s*\)")
_HOME: Final = re.compile(
    r"\b(?:[\w.]+\.)?Path\.home\(\)|\bos\.(?:environ(?:\.get\(|\[)|getenv\()['\"]HOME['\"][\])]"
    r"|\bprocess\.env\.HOME\b|\bENV\[['\"]HOME['\"]\]|\bos\.homedir\(\)|\bDir\.home\b"
)
_AWK: Final = re.compile(
    r"\bsystem\s*\(|\|\s*&?\s*(?:getline|[\"\w])|print[^;}]*>|\bgetline\b.*<|@(?:load|include)|\bclose\s*\(|\"\s*\|"
)
_SUBSTITUTES: Final = re.compile(r"\s*(?:s|y|tr)([/|#!,])[^(@$]*\1[^(@]*\1[gimsxr]*;?\s*")
_SED: Final = re.compile(
    r"(?:^|[;{}\s/\d$])[ewrW]\s+\S|(?:^|[;{}\d$])\s*e\s*(?:[;}]|$)|s(\W).*?\1.*?\1[gimp\d]*[ew]"
)


def program_text(command: Simple) -> Iterator[tuple[str, str]]:
    """Pairs (language, text) of code that a command carries in its words or its known input."""
    name = re.sub(r"[\d.]+$", "", command.program)
    if name in {"awk", "gawk", "mawk", "nawk"}:
        yield "awk", "\n".join(_awk_program(command.argv[1:]))
    elif name in {"timeit", "pdb", "cprofile"} and command.through[-1:] == ("python",):
        yield from (("python", word) for word in command.argv[1:] if not word.startswith("-"))
    elif name in {"sed", "gsed"}:
        words = command.argv[1:]
        given = option_values(words, "-e", "--expression")
        own = (
            given
            if given or has_option(words, "-f", "--file")
            else operands(words, {"-l", "--line-length"})[:1]
        )
        yield "sed", "\n".join(own)
    elif name in _SWITCHES:
        inline = option_values(command.argv[1:], *_SWITCHES[name])
        yield from ((name, text) for text in inline)
        if (
            not inline
            and command.text is not None
            and all(word.startswith("-") or word == UNKNOWN for word in command.argv[1:])
        ):
            yield name, command.text


def _awk_program(words: Sequence[str]) -> list[str]:
    """The program among awk's words; the others are files, settings, or the file of a program."""
    given = option_values(words, "-e", "--source")
    if given or has_option(words, "-f", "--file"):
        return [*given, *(word for word in words if word.startswith(("-l", "-i", "--load")))]
    return operands(words, {"-F", "-v", "--field-separator", "--assign"})[:1]


def shell_texts(code: str) -> Iterator[str]:
    """Command lines that stand as plain text in a piece of program text: what it would give to a shell,
    start, or delete.
    """
    code = _HOME.sub('"~"', _EXPANDS.sub(r"\1", code))
    for found in _STARTS.finditer(code):
        yield found["text"] or found["quoted"] or ""
    for found in _STARTS_LIST.finditer(code):
        yield " ".join(shlex.quote(one) for one in re.findall(r"['\"]([^'\"]*)['\"]", found[1]))
    for found in _WALKS.finditer(code) if _REMOVES.search(code) else ():
        yield f"rm -rf {found[1]}"
    for found in _DELETES.finditer(code):
        home, rest = ("~", found[1][1:]) if re.match(r"~(?:/|$)", found[1]) else ("", found[1])
        yield f"rm -rf {home}{shlex.quote(rest) if rest else ''}"


def imports(code: str, module: str) -> bool:
    """Whether a piece of Python names a module to load."""
    return bool(re.search(rf"\b(?:import|from)\s+{module}\b|run_module\(\s*['\"]{module}\b", code))


def texts(code: str) -> list[str]:
    """The texts without blanks that stand in quotes in a piece of program text."""
    return re.findall(r"['\"]([^'\"\s]{1,200})['\"]", code)


def unreadable_reason(language: str, text: str) -> str:
    """Why a text may do more than compute and print, or "" when it plainly does not."""
    if UNKNOWN in text:
        return f"{language} code with parts that are only known when it runs"
    if language in {"python", "pypy"}:
        return _python(text)
    if language == "perl" and _SUBSTITUTES.fullmatch(text):
        return ""
    pattern = {"awk": _AWK, "sed": _SED}.get(language, _OTHER)
    found = pattern.search(text)
    return f"{language} code that uses {found[0].strip()!r}" if found else ""


def _python(text: str) -> str:
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return "Python code that cannot be read"
    for node in ast.walk(tree):
        if reason := _node(node):
            return f"Python code that uses {reason}"
    return ""


def _node(node: ast.AST) -> str:
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        return _imported(node, names)
    if isinstance(node, ast.Call):
        return _called(node)
    if isinstance(node, ast.Attribute) and node.attr in {
        "__globals__",
        "__builtins__",
        "__subclasses__",
        "__dict__",
        "__class__",
        "__getattribute__",
    }:
        return node.attr
    return "__builtins__" if isinstance(node, ast.Name) and node.id == "__builtins__" else ""


def _imported(node: ast.Import | ast.ImportFrom, names: list[str]) -> str:
    risky = next((name for name in names if {name, name.split(".")[0]} & _RISKY_MODULES), "")
    if risky:
        return risky
    if isinstance(node, ast.ImportFrom) and names[0].split(".")[0] in _SAFE_MODULES:
        return next(
            (alias.name for alias in node.names if alias.name == "*" or _ATTRIBUTES.fullmatch(alias.name)), ""
        )
    return ""


def _called(node: ast.Call) -> str:
    target = node.func
    if isinstance(target, ast.Name):
        if target.id == "getattr" and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
            return str(node.args[1].value) if _ATTRIBUTES.fullmatch(str(node.args[1].value)) else ""
        return target.id if target.id in _CALLS or (target.id == "open" and _opens_to_write(node, 1)) else ""
    if not isinstance(target, ast.Attribute):
        return "a call of something computed" if isinstance(target, ast.Call | ast.Subscript) else ""
    owner = target.value.id if isinstance(target.value, ast.Name) else ""
    if target.attr == "open":
        return (
            "open"
            if _opens_to_write(node, 0 if not owner or owner not in {"io", "codecs", "os"} else 1)
            else ""
        )
    computed = any(not isinstance(one, ast.Constant) for one in node.args[:1])
    if owner in _CLIENTS and (target.attr in _SENDING or (target.attr == "get" and computed)):
        return f"{owner}.{target.attr}"
    return (
        f"{owner}.{target.attr}"
        if _ATTRIBUTES.fullmatch(target.attr) and owner not in _HARMLESS_OWNERS
        else ""
    )


def _opens_to_write(node: ast.Call, position: int) -> bool:
    """Whether the mode of an `open` call is not plainly one for reading."""
    given = [node.args[position]] if len(node.args) > position else []
    given += [keyword.value for keyword in node.keywords if keyword.arg in {"mode", "opener"}]
    return any(
        not (
            isinstance(mode, ast.Constant) and isinstance(mode.value, str) and set(mode.value) <= set("rbtU")
        )
        for mode in given
    )
