"""Everything that a command line may do which needs a decision: the rules of the table, and what only code can tell."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from hermes.safety.chains import INTERPRETERS, rerouted, runs_fetched, upstream, written_scripts
from hermes.safety.code import SHELLS, doubt, program_text
from hermes.safety.command import Script, Simple
from hermes.safety.embedded import counted
from hermes.safety.options import has_option, operands, option_values
from hermes.safety.paths import Map, Place, absolute, is_env_file, place_of, runs_later
from hermes.safety.rules import MESSAGES, Finding, file_uses, findings, table
from hermes.safety.sending import CARRIERS, DOWNLOADERS, hosts_of, sent
from hermes.safety.words import UNKNOWN
from hermes.safety.wrappers import found_paths, see_through

_NO_READERS: Final = frozenset(
    {
        "echo",
        "printf",
        "ls",
        "stat",
        "test",
        "[",
        "dirname",
        "basename",
        "realpath",
        "readlink",
        "which",
        "type",
        "mkdir",
        "touch",
        "cd",
        "chmod",
    }
)
_LOADERS: Final = re.compile(
    r"LD_(?:PRELOAD|LIBRARY_PATH|AUDIT)|DYLD_\w+|BASH_ENV|ENV|PROMPT_COMMAND|PS4|PYTHON(?:STARTUP|HOME|INSPECT)|PERL5(?:OPT|DB)|RUBYOPT|NODE_OPTIONS"
    r"|GIT_(?:SSH\w*|EXTERNAL_DIFF|PAGER|EDITOR|SEQUENCE_EDITOR|ASKPASS|PROXY_COMMAND|CONFIG\w*|EXEC_PATH|TEMPLATE_DIR)|(?:MAN)?PAGER|(?:VISUAL|EDITOR|BROWSER)"
    r"|LESS(?:OPEN|CLOSE)|SSH_ASKPASS|SUDO_ASKPASS|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|MAKEFLAGS|CARGO_BUILD_RUSTC\w*|RUSTC_WRAPPER|TAR_OPTIONS|RSYNC_RSH|GCONV_PATH|OPENSSL_CONF|KUBECONFIG|DOCKER_HOST"
)
_SOURCES: Final = re.compile(
    r"(?i)PIP_(?:INDEX_URL|EXTRA_INDEX_URL|FIND_LINKS|TRUSTED_HOST|CONFIG_FILE)|NPM_CONFIG_(?:\w*REGISTRY|SCRIPT_SHELL|PREFIX|USERCONFIG)|GOPROXY|GONOSUM\w*|GOINSECURE"
    r"|UV_(?:\w*INDEX\w*)|CARGO_REGISTR\w+|YARN_(?:NPM_)?REGISTRY\w*|BUNDLE_\w*MIRROR\w*|CONDA_CHANNELS"
)
_OWN_JOBS: Final = re.compile(r"\$!|\$\(jobs -[a-z]*p[a-z]*\)")
_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b\u200e\u200f\u061c\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\u180e\U000e0000-\U000e007f]|\r(?!\n)"
)
_READING_GIT: Final = re.compile(
    r"status|log|diff|show|rev-parse|ls-files|ls-tree|remote|describe|grep|blame|branch|tag|config|cat-file|shortlog|rev-list|fetch|reflog|for-each-ref"
)
_CLONE_VALUES: Final = frozenset(
    {"-b", "--branch", "--depth", "-o", "--origin", "-c", "--config", "-j", "--jobs", "--reference", "--filter"}
)
_NAME_TESTS: Final = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-lname", "-perm", "-user"})
_COUNTS: Final = frozenset({"-A", "-B", "-C", "-m", "--max-count", "--include", "--exclude", "-g", "--glob", "-t", "-T", "--arg"})
_DISKS: Final = re.compile(r"/dev/(?:[shvx]v?d[a-z]|nvme|mmcblk|disk|r?disk|loop|mapper|md|dm-|mem|kmem|port)")
_PLAIN_TOOLS: Final = re.compile(r"(?:/usr/bin/|/bin/)?(?:cat|less|more|true|vi|vim|nano|code --wait|:)|", re.IGNORECASE)
_SOURCES_OF_WORK: Final = re.compile(
    r"\*\.(?:py|ipynb|[jt]sx?|go|rs|java|kt|c|cc|cpp|h|hpp|cs|rb|php|swift|sql|md|rst|tex|csv|parquet|json|ya?ml|toml|html|css)$"
)
_OWN_LISTS: Final = re.compile(r"/\.git/(?:info/\w+|COMMIT_EDITMSG|description)$")
_STORED: Final = re.compile(r"\.(?:db|sqlite3?|mdb|rdb|dump|duckdb|parquet|kdbx)$")
_DATABASES: Final = frozenset({"psql", "mysql", "mariadb", "sqlite3", "mongosh", "mongo", "redis-cli", "cqlsh", "duckdb", "sqlcmd"})
_RECURSIVE: Final = ("-r", "-R", "--recursive")
_TAKES_FOLDERS: Final = frozenset({"rimraf", "del-cli", "trash", "srm"})
_DROPPED: Final = "it cannot be brought back"


@dataclass(frozen=True, slots=True)
class Reading:
    """A command line as it was read: the commands that it would run, and what was found in them."""

    commands: tuple[Simple, ...]
    found: tuple[Finding, ...]


def inspect(source: str, *, cwd: str, folders: Map) -> tuple[Finding, ...]:
    """What a command line may do, each kind once, in the order found."""
    return read_command(source, cwd=cwd, folders=folders).found


def read_command(source: str, *, cwd: str, folders: Map, before: str = "") -> Reading:
    """A command line's commands and findings, each kind once, in the order found; `before` defined aliases and functions."""
    variables = {
        "SHELL": "/bin/sh",
        "BASH": "/bin/bash",
        "HOME": folders.home,
        "TMPDIR": folders.temp[0] if folders.temp else UNKNOWN,
        "HERMES_HOME": folders.hermes_home,
    }
    script = see_through(source, cwd=cwd, variables=variables, before=before)
    found = list(_of_script(script, source))
    for command in (*script.commands, *rerouted(script.commands)):
        words = command.line.replace(UNKNOWN, "…")
        hosts = tuple(hosts_of(command)) if command.program in CARRIERS or command.program == "git" else ()
        all_found = (counted(command, one) for one in (*findings(command), *_of_command(command, folders)))
        found += (replace(one, words=words, hosts=hosts) for one in all_found if one is not None)
    for command, text in written_scripts(script.commands):
        found += _of_written(command, text, folders)
    return Reading(tuple(script.commands), tuple(dict.fromkeys(found)))


def _of_written(command: Simple, text: str | None, folders: Map) -> Sequence[Finding]:
    """What a script does that the line itself writes before it runs it."""
    if text is None:
        return [Finding("unknown-script", "opaque", f"what {command.program} would run is only known when it runs", words=command.line)]
    return read_command(text, cwd=command.cwd, folders=folders).found


def _of_script(script: Script, source: str) -> Iterator[Finding]:
    if script.bombs:
        yield Finding("fork-bomb", "halt", "it starts copies of itself without end")
    if script.loops:
        yield Finding("endless-loop", "persistence", "it goes on in the background without end")
    for fault in script.faults:
        yield Finding("unreadable", "opaque", fault)
    paths = [path for command in script.commands for path in (*command.writes, *command.reads)]
    if re.search(r"/dev/(?:tcp|udp)/", "\n".join([source, *paths])):
        yield Finding("network-shell", "listen", "it connects through the shell itself")
    if _HIDDEN.search(source):
        yield Finding("hidden-characters", "opaque", "it has characters that hide what it says")
    if re.search(r"://[^/\s]*[^\x00-\x7f]", source):
        yield Finding("look-alike-host", "upload", "the address has letters that look like others")
    if runs_fetched(script.commands):
        yield Finding("download-and-run", "download", "it runs what it downloads")


def _of_command(command: Simple, folders: Map) -> Iterator[Finding]:
    yield from _name(command)
    yield from _input(command)
    yield from _assignments(command, folders)
    yield from _redirections(command, folders)
    yield from _files(command, folders)
    yield from _reading(command, folders)
    yield from _signals(command)
    yield from _statements(command)
    yield from sent(command)
    yield from _elsewhere(command, folders)
    for language, text in program_text(command):
        if reason := doubt(language, text):
            yield Finding("inline-code", "opaque", f"it runs {reason}")


def _name(command: Simple) -> Iterator[Finding]:
    if command.argv and (UNKNOWN in command.argv[0] or (re.search(r"[*?\[]", command.argv[0]) and command.argv[0] not in {"[", "[["})):
        yield Finding("unknown-program", "opaque", "the program's name is only known when it runs")


def _input(command: Simple) -> Iterator[Finding]:
    """Shells and interpreters that run what they are sent."""
    is_shell = command.program in SHELLS
    if not is_shell and not INTERPRETERS.fullmatch(command.program):
        return
    words = command.argv[1:]
    runs_unknown_file = any(UNKNOWN in word for word in words[:1]) and (is_shell or bool(command.sources))
    reads_input = not operands(words, {"-o", "-O", "-c", "-m", "-W"}) or "-s" in words or words[:1] in {("-",), ("/dev/stdin",)}
    reads_input = reads_input and not any(re.fullmatch(r"-[a-z]*[cem]", word) for word in words)
    if not runs_unknown_file and not (reads_input and command.sources and not _all_known(command)):
        return
    if any(source.program in DOWNLOADERS for source in upstream(command)):
        yield Finding("download-and-run", "download", "it runs what it downloads")
    else:
        yield Finding("unknown-script", "opaque", f"what {command.program} would run is only known when it runs")


def _statements(command: Simple) -> Iterator[Finding]:
    """A database that is given statements which only another program knows."""
    if command.program in _DATABASES and any(one.program not in {"echo", "printf", "cat", ""} for one in command.sources):
        yield Finding("unknown-script", "opaque", f"what {command.program} would run is only known when it runs")


def _all_known(command: Simple) -> bool:
    """Whether the input of a shell is the known words of an `echo`, which were read as a script of their own."""
    known = len(command.sources) == 1 and command.sources[0].program in {"echo", "printf", "cat"} and command.program in SHELLS
    source = command.sources[0]
    return (
        known
        and not any(UNKNOWN in word or "%" in word or "\\" in word for word in source.argv)
        and (source.program != "cat" or source.text is not None)
    )


def _assignments(command: Simple, folders: Map) -> Iterator[Finding]:
    for name, text in command.assignments:
        if _SOURCES.fullmatch(name):
            yield Finding("package-variable", "package", f"{name} says where packages come from")
        elif name.startswith("HERMES_") or re.search(r"(?i)yolo", name):
            yield Finding("own-switch", "own", "it changes a switch of this agent")
        elif _LOADERS.fullmatch(name) and not _PLAIN_TOOLS.fullmatch(text):
            yield Finding("loader-variable", "loader", f"{name} makes programs run or load something else")
        elif re.fullmatch(r"HIST(?:FILE|SIZE|FILESIZE)", name) and text in {"", "0", "/dev/null"}:
            yield Finding("clear-tracks", "delete", "it stops the record of what is done")
        elif name == "PATH" and any(_is_odd_folder(folder, command.cwd, folders) for folder in text.split(":")):
            yield Finding("search-path", "loader", "programs would be looked for in a folder that anybody may fill")


def _is_odd_folder(folder: str, cwd: str, folders: Map) -> bool:
    if folder.startswith(UNKNOWN):
        return False
    return not folder.startswith("/") or folder in folders.temp or place_of(folder, cwd, folders) == "temp"


def _redirections(command: Simple, folders: Map) -> Iterator[Finding]:
    for path in command.writes:
        yield from _written(path, command.cwd, folders)
        if _STORED.search(path) and (command.program in {"", ":", "true", "echo", "printf"} or "/dev/null" in command.argv):
            yield Finding("delete", "delete", f"it empties {_shown(path)}, and {_DROPPED}", absolute(path, command.cwd))
    for path in command.reads:
        yield from _read(path, command.cwd, folders)


def _files(command: Simple, folders: Map) -> Iterator[Finding]:
    recursive = has_option(command.argv[1:], *_RECURSIVE) or command.program in _TAKES_FOLDERS
    for does, path in file_uses(command):
        if command.program == "git" or (command.program == "rsync" and has_option(command.argv[1:], "-n", "--dry-run")):
            continue
        if does == "move" and path == "/dev/null":
            yield Finding("delete", "delete", f"it moves files into nothing, and {_DROPPED}", command.cwd)
        if does == "delete":
            every = recursive or bool(_SOURCES_OF_WORK.search(path)) or _takes_all(path) or _is_all_found(path, command)
            yield from _deleted(path, command, folders, recursive=every)
        elif does == "move":
            yield from _moved(path, command.cwd, folders)
        else:
            yield from _written(path, command.cwd, folders, recursive=recursive)
    if (
        command.program == "rsync"
        and not has_option(command.argv[1:], "-n", "--dry-run")
        and any(word.startswith("--del") for word in command.argv[1:])
    ):
        for path in operands(command.argv[1:], {"-e", "--rsh", "--exclude", "--include"})[-1:]:
            yield from (one for one in _deleted(path, command, folders, recursive=True) if ":" not in path)
    if command.program == "find" and has_option(command.argv[1:], "-delete") and "-empty" not in command.argv:
        for path in found_paths(command.argv):
            yield from _deleted(path, command, folders, recursive=True)


def _takes_all(path: str) -> bool:
    """Whether the last part of a path stands for whatever is there."""
    return bool(re.fullmatch(r"[*?\0]*[*\0][*?\0]*", path.rpartition("/")[2]))


def _is_all_found(path: str, command: Simple) -> bool:
    """Whether a path stands for all that `find` comes upon below it."""
    return command.through[-1:] == ("find",) and "**" not in path


def _deleted(path: str, command: Simple, folders: Map, *, recursive: bool) -> Iterator[Finding]:
    if not path or "://" in path:
        return
    place, full = place_of(path, command.cwd, folders), absolute(path, command.cwd)
    if _DISKS.match(full):
        yield Finding("write-device", "erase", "it writes straight to a device", full)
    elif place == "root" and recursive:
        yield Finding("erase", "erase", f"it deletes {_shown(path)}", full)
    elif place in {"unknown", "repository"} or (place == "workspace" and (recursive or command.program == "shred")):
        yield Finding("delete", "delete", f"it deletes {_shown(path)}, and {_DROPPED}", full)
    elif place == "own":
        yield Finding("own-files", "own", "it deletes this agent's files", full)
    elif place in {"disposable", "workspace"}:
        yield Finding("change", "change", f"it deletes {_shown(path)}", full)
    elif place != "temp":
        yield Finding("delete-outside", "outside", f"it deletes {_shown(path)}, outside the workspace", full)


def _moved(path: str, cwd: str, folders: Map) -> Iterator[Finding]:
    if place_of(path, cwd, folders) == "root":
        yield Finding("erase", "erase", f"it moves {_shown(path)} away", absolute(path, cwd))
    else:
        yield from _written(path, cwd, folders)


def _written(path: str, cwd: str, folders: Map, *, recursive: bool = False) -> Iterator[Finding]:
    if re.match(r"[\w.-]+@?[\w.-]*:(?!//)", path) or "://" in path or path == "-":
        return  # another machine's: rules of their own
    place, full = place_of(path, cwd, folders), absolute(path, cwd)
    if full == "/proc/sysrq-trigger":
        yield Finding("crash-kernel", "halt", "it makes the kernel stop")
    elif place == "device":
        yield Finding("write-device", "erase" if _DISKS.match(full) else "outside", "it writes straight to a device", full)
    elif place == "root" and recursive:
        yield Finding("erase", "erase", f"it changes all of {_shown(path)}", full)
    else:
        yield from _changed(path, place, full, recursive=recursive)


def _changed(path: str, place: Place, full: str, *, recursive: bool) -> Iterator[Finding]:
    if place == "own":
        yield Finding("own-files", "own", "it changes this agent's files", full)
    elif place == "start" or runs_later(full):
        yield Finding("start-file", "persistence" if place != "start" else "outside", f"{_shown(path)} makes something run later", full)
    elif is_env_file(path):
        yield Finding("variables-file", "variables", f"it changes {_shown(path)}, a file of secret variables", full)
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
    words += [text for _, code in program_text(command) for text in re.findall(r"['\"]([^'\"\s]{1,200})['\"]", code)]
    for word in words:
        for path in _path_parts(word):
            yield from _read(path, command.cwd, folders)


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
    if any(letter in word for letter in " \n\t()"):
        return
    plain = re.sub(r"^(?:-{0,2}[\w-]+=|@|file://)", "", word)
    if plain and not plain.startswith("-"):
        yield from plain.split(":") if "://" not in plain else ()


def _read(path: str, cwd: str, folders: Map) -> Iterator[Finding]:
    place = place_of(path, cwd, folders)
    if re.search(r"/\.ssh/[\w.*-]+\.pub$", path):
        return  # the half of a key that everybody may know
    if place == "secret" or re.fullmatch(r"/proc/[^/]*\0[^/]*/(?:environ|mem|maps|fd/.*)", path):
        yield Finding("credentials", "secret", f"it reads {_shown(path)}")
    elif _DISKS.match(path):
        yield Finding("read-device", "secret", "it reads straight from a device")
    elif place == "own":
        yield Finding("own-files", "own", "it reads or changes this agent's files")
    elif is_env_file(path):
        yield Finding("variables-file", "variables", f"it reads {_shown(path)}, a file of secret variables")


def _elsewhere(command: Simple, folders: Map) -> Iterator[Finding]:
    """A repository of another place that git writes to."""
    if command.program != "git":
        return
    words = command.argv[1:]
    given = operands(words, table().values["git"])
    if given[:1] == ["clone"]:
        yield from (one for path in operands(given[1:], _CLONE_VALUES)[1:2] for one in _written(path, command.cwd, folders))
    before = words[: words.index(given[0])] if given and given[0] in words else words
    if given and not _READING_GIT.fullmatch(given[0]):
        for path in option_values(before, "-C", "--work-tree", "--git-dir"):
            if place_of(path, command.cwd, folders) in {"root", "system", "outside", "secret", "home", "own", "start"}:
                yield from _written(path, command.cwd, folders)


def _signals(command: Simple) -> Iterator[Finding]:
    if command.program != "kill" or has_option(command.argv[1:], "-0", "-l", "-L", "--list"):
        return
    if all(word == UNKNOWN for word in _targets(command.argv[1:])) and _are_own_jobs(command):
        return
    if any(word not in {"-s", "-n"} and not word.startswith(("-", "%")) for word in _targets(command.argv[1:])):
        yield Finding("kill", "process", "it stops processes by number")


def _are_own_jobs(command: Simple) -> bool:
    """Whether all that a command stops was started beside it."""
    variables = re.findall(r"\$(?:\{?(\w+)|(\([^)]*\)|[!?$@*-]|`))", command.line)
    texts = [command.scope.made.get(name, "") if name else f"${other}" for name, other in variables]
    return bool(texts) and all(_OWN_JOBS.fullmatch(text.strip('"')) for text in texts)


def _targets(words: Sequence[str]) -> list[str]:
    return operands(words, {"-s", "-n", "--signal"})


def _shown(path: str) -> str:
    return "files that only its run will name" if path == UNKNOWN else path.replace(UNKNOWN, "…")
