"""What a command does to files, as far as it needs a decision: reading, writing, deleting."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from hermes.safety.commands.code import SHELLS, program_text, texts, unreadable_reason
from hermes.safety.commands.dataflow import INTERPRETERS, upstream
from hermes.safety.commands.expansion import UNKNOWN
from hermes.safety.commands.found_files import found_paths
from hermes.safety.commands.git_settings import settings_files
from hermes.safety.commands.options import CLONE_VALUES, has_option, operands, option_values
from hermes.safety.commands.own_paths import named_in
from hermes.safety.commands.paths import (
    Map,
    Place,
    absolute,
    is_env_file,
    is_own_result,
    place_of,
    runs_later,
    start_words,
)
from hermes.safety.commands.rules import MESSAGES, Finding, file_uses, table
from hermes.safety.commands.script import Simple

_NO_READERS: Final = frozenset(
    {"echo", "printf", "ls", "stat", "test", "[", "dirname", "basename", "realpath", "readlink", "which"}
    | {"type", "mkdir", "touch", "cd", "chmod"}
)
_READERS: Final = re.compile(
    r"cat|tac|nl|less|more|head|tail|file|wc|[efz]?grep|rg|ag|ack|diff|cmp|tree|du|strings|sort|uniq|cut|jq|xxd|od|hexdump|column"
    r"|(?:md5|b2|sha\d+)sum|cd|pushd|find|fd|bat|"
)
_READING_GIT: Final = re.compile(
    r"status|log|diff|show|rev-parse|ls-files|ls-tree|remote|describe|grep|blame|branch|tag|config|cat-file|shortlog|rev-list|fetch|reflog|for-each-ref"
)
_GIT_TAKES: Final = re.compile(
    r"--(?:file|pathspec-from-file|reference|reference-if-able|exclude-from|contents|template|git-dir|work-tree"
    r"|format|pretty|grep|author|committer|message|trailer|since|after|until|before|date|exec|range-diff|glob"
    r"|exclude|word-diff-regex|color|ignore-matching-lines|src-prefix|dst-prefix|line-prefix|path-format)"
)
"""Options of git that write nothing at their value."""
_GIT_OUTPUT: Final = re.compile(r"--ou[a-z-]*|-o|--[a-z-]*(?:dir|directory|prefix|marks)")
_NOT_OURS_TO_WRITE: Final = frozenset({"system", "secret", "own", "start"})
_ELSEWHERE: Final = _NOT_OURS_TO_WRITE | {"root", "outside", "home"}
_NAME_TESTS: Final = frozenset(
    {"-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-lname", "-perm", "-user"}
)
_COUNTS: Final = frozenset(
    {"-A", "-B", "-C", "-m", "--max-count", "--include", "--exclude", "-g", "--glob", "-t", "-T", "--arg"}
)
_DISKS: Final = re.compile(
    r"/dev/(?:[shvx]v?d[a-z]|nvme|mmcblk|disk|r?disk|loop|mapper|md|dm-|mem|kmem|port)"
)
_SOURCES_OF_WORK: Final = re.compile(
    r"\*\.(?:py|ipynb|[jt]sx?|go|rs|java|kt|c|cc|cpp|h|hpp|cs|rb|php|swift|sql|md|rst|tex|csv|parquet|json|ya?ml|toml|html|css)$"
)
_ROOT_WHERE_EMPTY: Final = re.compile(r"\0+/+\**|/+\0+(?:/+\**)?")
_FATAL: Final = re.compile(
    r"/proc/sysrq-trigger|/sys/power/state|/dev/watchdog\d*|/sys/fs/cgroup/(?:[\w.]+\.slice/)?cgroup\.kill"
)
_OWN_LISTS: Final = re.compile(r"/\.git/(?:info/\w+|COMMIT_EDITMSG|description)$")
_STORED: Final = re.compile(r"\.(?:db|sqlite3?|mdb|rdb|dump|duckdb|parquet|kdbx)$")
_RECURSIVE: Final = ("-r", "-R", "--recursive")
_TAKES_FOLDERS: Final = frozenset({"rimraf", "del-cli", "trash", "srm", "tar", "gtar", "bsdtar"})
_COPIERS: Final = frozenset({"cp", "mv", "rsync", "install", "ln"})
_DROPPED: Final = "it cannot be brought back"
_OWN_READ: Final = Finding("own-files", "own", "it reads this agent's files")


def of_files(command: Simple, folders: Map) -> Iterator[Finding]:
    """What a command does to files: by redirections, by its own work, and by reading them."""
    yield from _redirections(command, folders)
    yield from _files(command, folders)
    yield from _reading(command, folders)


def _redirections(command: Simple, folders: Map) -> Iterator[Finding]:
    for path in command.writes:
        yield from _written(path, command.cwd, folders)
        if (_STORED.search(path) or ("*" in path and _takes_all(path))) and (
            command.program in {"", ":", "true", "echo", "printf"} or "/dev/null" in command.argv
        ):
            yield Finding(
                "delete", "delete", f"it empties {_shown(path)}, and {_DROPPED}", absolute(path, command.cwd)
            )
    for path in command.reads:
        yield from _read(path, command, folders)


def _files(command: Simple, folders: Map) -> Iterator[Finding]:
    words = command.argv[1:]
    if command.program == "git" or (command.program == "rsync" and has_option(words, "-n", "--dry-run")):
        return
    recursive = has_option(words, *_RECURSIVE) or command.program in _TAKES_FOLDERS
    for does, path in file_uses(command):
        if does == "delete":
            every = recursive or _stands_for_many(path, command)
            yield from _deleted(path, command, folders, recursive=every)
        elif does == "move":
            yield from _moved(path, command, folders)
        elif recursive or absolute(path, command.cwd) not in folders.temp:  # into it, and not itself
            yield from _written(path, command.cwd, folders, recursive=recursive)
        yield from _put_into_own(path, command, folders)
    for path in emptied(command):
        yield from _deleted(path, command, folders, recursive=True)


def emptied(command: Simple) -> list[str]:
    """The folders whose files a mirror or a search deletes."""
    words = command.argv[1:]
    if command.program == "rsync" and any(word.startswith("--del") for word in words):
        into = operands(words, {"-e", "--rsh", "--exclude", "--include"})[-1:]
        return [path for path in into if ":" not in path]
    if command.program == "find" and has_option(words, "-delete") and "-empty" not in words:
        return found_paths(command.argv)
    return []


def _put_into_own(folder: str, command: Simple, folders: Map) -> Iterator[Finding]:
    """A copy that would be ours by the name that it has where it comes from."""
    for word in operands(command.argv[1:]) if command.program in _COPIERS else ():
        put = f"{folder.rstrip('/')}/{word.rstrip('/').rpartition('/')[2]}"
        if place_of(put, command.cwd, folders) == "own":
            yield from _of_own("writes", put, folders)


def _takes_all(path: str) -> bool:
    """Whether the last part of a path stands for whatever is there."""
    return bool(re.fullmatch(r"[*?\0]*[*\0][*?\0]*", path.rpartition("/")[2]))


def _stands_for_many(path: str, command: Simple) -> bool:
    """Whether a path stands for whatever is there, for all that `find` comes upon, or for sources of work."""
    found = command.through[-1:] == ("find",) and "**" not in path
    return found or _takes_all(path) or bool(_SOURCES_OF_WORK.search(path))


def _deleted(path: str, command: Simple, folders: Map, *, recursive: bool) -> Iterator[Finding]:
    if not path or "://" in path:
        return
    place, full = place_of(path, command.cwd, folders), absolute(path, command.cwd)
    if _DISKS.match(full):
        yield Finding("write-device", "erase", "it writes straight to a device", full)
    elif recursive and _ROOT_WHERE_EMPTY.fullmatch(path):
        yield Finding("erase", "erase", "it deletes all of / where a variable is empty; ${x:?} stops there")
    elif place == "root" and recursive:
        yield Finding("erase", "erase", f"it deletes {_shown(path)}", full)
    elif place in {"unknown", "repository"} or (
        place == "workspace" and (recursive or command.program == "shred")
    ):
        yield Finding("delete", "delete", f"it deletes {_shown(path)}, and {_DROPPED}", full)
    elif place == "own":
        yield from _of_own("deletes", full, folders)
    elif place in {"disposable", "workspace"}:
        yield Finding("change", "change", f"it deletes {_shown(path)}", full)
    elif place != "temp":
        yield Finding("delete-outside", "outside", f"it deletes {_shown(path)}, outside the workspace", full)


def _moved(path: str, command: Simple, folders: Map) -> Iterator[Finding]:
    if path == "/dev/null":
        yield Finding("delete", "delete", f"it moves files into nothing, and {_DROPPED}", command.cwd)
    if place_of(path, command.cwd, folders) == "root":
        yield Finding("erase", "erase", f"it moves {_shown(path)} away", absolute(path, command.cwd))
    else:
        yield from _written(path, command.cwd, folders)


def _written(path: str, cwd: str, folders: Map, *, recursive: bool = False) -> Iterator[Finding]:
    if re.match(r"[\w.-]+@?[\w.-]*:(?!//)", path) or "://" in path or path == "-":
        return  # another machine's: rules of their own
    place, full = place_of(path, cwd, folders), absolute(path, cwd)
    if _FATAL.fullmatch(full):
        yield Finding("crash-kernel", "halt", "it makes the kernel stop, or everything that runs")
    elif place == "device":
        yield Finding(
            "write-device",
            "erase" if _DISKS.match(full) else "outside",
            "it writes straight to a device",
            full,
        )
    elif place == "root" and recursive:
        yield Finding("erase", "erase", f"it changes all of {_shown(path)}", full)
    elif place == "own":
        yield from _of_own("changes", full, folders)
    else:
        yield from _changed(path, place, full, folders, recursive=recursive)


def _of_own(does: str, full: str, folders: Map) -> Iterator[Finding]:
    """A change to our own files: settings, keys, tools and sessions are the user's alone to change."""
    if is_own_result(full, folders):
        yield Finding("own-files", "own", f"it {does} this agent's files", full)
    else:
        yield Finding("own-settings", "policy", f"it {does} this agent's settings, keys or tools", full)


def _changed(path: str, place: Place, full: str, folders: Map, *, recursive: bool) -> Iterator[Finding]:
    whole = recursive and full.endswith("/.git")
    if place == "start":
        yield Finding("start-file", "outside", start_words(full, _shown(path), folders), full)
    elif runs_later(full) and not whole:
        yield Finding("start-file", "persistence", f"{_shown(path)} makes something run later", full)
    elif is_env_file(path):
        yield Finding(
            "variables-file", "variables", f"it changes {_shown(path)}, a file of secret variables", full
        )
    elif place == "repository" and (recursive or not _OWN_LISTS.search(full)):
        yield Finding("repository", "history", "it changes git's own files", full)
    elif place in {"root", "system", "outside", "secret", "home"}:
        yield Finding("write-outside", "outside", f"it writes to {_shown(path)}, outside the workspace", full)
    elif place == "unknown":
        yield Finding("write-unknown", "opaque", "where it writes is only known when it runs", full)
        yield Finding("change", "change", "it may change files in the workspace", full)
    elif place != "temp":
        yield Finding("change", "change", f"it changes {_shown(path)}", full)


def _reading(command: Simple, folders: Map) -> Iterator[Finding]:
    if command.program in _NO_READERS or not command.argv or command.argv[0] in command.scope.aliases:
        return
    words = _possible_files(command)
    if command.program == "xargs":
        words += [word for source in upstream(command) for word in source.argv[1:]]
    for word in words:
        for path in _path_parts(word):
            yield from _read(path, command, folders)
    for language, code in program_text(command):
        yield from _named_in_code(language, code, command, folders)


def _named_in_code(language: str, code: str, command: Simple, folders: Map) -> Iterator[Finding]:
    """The files that a piece of program text names, whole or, where they may be ours, in part."""
    if named_in(code, folders.own):
        reads = not unreadable_reason(language, code)
        yield from [_OWN_READ] if reads else _of_own("may change", UNKNOWN, folders)
    for path in texts(code):
        if place_of(path, command.cwd, folders) != "own":
            yield from (one for part in _path_parts(path) for one in _read(part, command, folders))


def _possible_files(command: Simple) -> list[str]:
    """The words that may name files: not those that say what to look for."""
    words, program = list(command.argv[1:]), command.program
    if program == "git":
        words = [word for word, before in zip(words, ["", *words], strict=False) if before not in MESSAGES]
        program, words = ("grep", words[1:]) if words[:1] == ["grep"] else (program, words)
    if program == "find":
        return [word for word, before in zip(words, ["", *words], strict=False) if before not in _NAME_TESTS]
    options = table().patterns.get(program)
    if options is None or has_option(words, *options):
        return words
    counts = {"-F", "-v", "--assign", "--field-separator"} if program.endswith("awk") else _COUNTS
    first = next(iter(operands(words, counts)), None)
    if first is not None:
        words.remove(first)
    return words


def _path_parts(word: str) -> Iterator[str]:
    """What in a word may be a path."""
    if any(letter in word for letter in "\n\t()") or (" " in word and not word.startswith("/")):
        return
    plain = re.sub(r"^(?:-{0,2}[\w-]+=|@|file://)", "", word)
    if plain and not plain.startswith("-"):
        yield from plain.split(":") if "://" not in plain else ()


def _read(path: str, command: Simple, folders: Map) -> Iterator[Finding]:
    place = place_of(path, command.cwd, folders)
    if re.search(r"/\.ssh/[\w.*-]+\.pub$", path):
        return  # the half of a key that everybody may know
    if place == "secret" or re.fullmatch(r"/proc/[^/]*\0[^/]*/(?:environ|mem|maps|fd/.*)", path):
        yield Finding("credentials", "secret", f"it reads {_shown(path)}")
    elif _DISKS.match(path):
        yield Finding("read-device", "secret", "it reads straight from a device")
    elif place == "own" and _only_reads(path, command):
        yield _OWN_READ
    elif place == "own":
        yield from _of_own("may change", absolute(path, command.cwd), folders)
    elif is_env_file(path):
        yield Finding("variables-file", "variables", f"it reads {_shown(path)}, a file of secret variables")


def _only_reads(path: str, command: Simple) -> bool:
    """Whether a command does no more with a file than read or run it."""
    runs = command.program in SHELLS or INTERPRETERS.fullmatch(command.program)
    return (
        path in command.reads
        or bool(_READERS.fullmatch(command.program))
        or (bool(runs) and operands(command.argv[1:])[:1] == [path])
    )


def of_other_repositories(command: Simple, folders: Map) -> Iterator[Finding]:
    """A repository of another place that git writes to."""
    if command.program != "git":
        return
    words = command.argv[1:]
    given = operands(words, table().values["git"])
    if given[:1] == ["clone"]:
        yield from (
            one
            for path in operands(given[1:], CLONE_VALUES)[1:2]
            for one in _written(path, command.cwd, folders)
        )
    yield from (one for path in settings_files(words) for one in _written(path, command.cwd, folders))
    before = words[: words.index(given[0])] if given and given[0] in words else words
    if given and not _READING_GIT.fullmatch(given[0]):
        for path in option_values(before, "-C", "--work-tree", "--git-dir"):
            if place_of(path, command.cwd, folders) in _ELSEWHERE:
                yield from _written(path, command.cwd, folders)
    yield from _git_outputs(command, words[len(before) :], folders)


def _git_outputs(command: Simple, given: Sequence[str], folders: Map) -> Iterator[Finding]:
    """What a subcommand of git may write where its options say, or where a file of its own is meant."""
    reads = bool(given) and _READING_GIT.fullmatch(given[0]) is not None
    for word, before in zip(given[1:], given, strict=False):
        name, is_set, value = word.partition("=")
        path = value if word.startswith("-") else word
        if not path or UNKNOWN in path or before in MESSAGES or _GIT_TAKES.fullmatch(name):
            continue
        place = place_of(path, command.cwd, folders)
        is_output = _GIT_OUTPUT.fullmatch(name if is_set else before) and not _GIT_TAKES.fullmatch(before)
        guarded = _ELSEWHERE if is_set else frozenset() if reads else _NOT_OURS_TO_WRITE
        if is_output or place in guarded:
            yield from _written(path, command.cwd, folders)


def _shown(path: str) -> str:
    return "files that only its run will name" if path == UNKNOWN else path.replace(UNKNOWN, "…")
