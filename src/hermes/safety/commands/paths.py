"""What a path is to us: secret, system, our own, inside the workspace or outside."""

import posixpath
import re
from typing import Final, Literal

from msgspec import Struct

from hermes.config.sensitive import fits_pattern, is_secret_path, is_start_path, plain_name, starter_of
from hermes.lib.repository import steers_git
from hermes.safety.commands.expansion import UNKNOWN
from hermes.safety.commands.own_paths import may_lie_in

Place = Literal[
    "root",
    "system",
    "home",
    "secret",
    "own",
    "start",
    "repository",
    "device",
    "disposable",
    "temp",
    "workspace",
    "outside",
    "unknown",
]
"""`root`: /, a top folder, or the home folder itself. `start`: a file that a program runs at its start.
`repository`: inside .git. `disposable`: build output and caches. `device`: below /dev, but not a harmless
one."""

_SYSTEM: Final = re.compile(
    r"/(?:bin|boot|dev|etc|lib\d*|libx?32|proc|root|sbin|sys|usr|var|opt|srv|run|System|Library|Applications|private|nix)(?:/|$)"
)
_TOP: Final = re.compile(r"/(?:[^/]+/?)?\**|/(?:usr|var|home|Users|System)/[^/]+/?\**")
_HARMLESS: Final = re.compile(r"/dev/(?:null|zero|full|u?random|std(?:in|out|err)|tty|fd/\d+|shm/.*)")
_ENV_FILE: Final = re.compile(
    r"[\w.-]*\.env|\.htpasswd|\.envrc|\.env\.(?!(?:[\w-]+\.)?example$|sample$|template$|dist$|defaults?$|test$)[\w.-]+"
)
_TEMPLATES: Final = re.compile(r"\.?(?:[\w.-]+\.)?(?:example|sample|template|dist|defaults?|test)\.env")
_ENV_NAMES: Final = (".env", ".envrc", ".env.local")
"""What such a file is mostly called: a pattern that one of them fits means it."""
_REPOSITORY: Final = re.compile(r"(?:^|/)(?:\.git|\.hg|\.svn)(?:/|$)")
_RUNS_LATER: Final = re.compile(
    r"(?:^|/)\.(?:husky|idea|devcontainer|claude/hooks)(?:/|$)"
    r"|(?:^|/)\.(?:hg/hgrc|pre-commit-config\.ya?ml|vscode/(?:tasks|launch)\.json|claude/settings(?:\.local)?\.json)$"
)
_ROOT_OF_PROCESS: Final = re.compile(r"^/proc/[^/]+(?:/task/[^/]+)?/root(?=/|$)")
_DIRECTORY_OF_PROCESS: Final = re.compile(r"^/proc/(?:self|thread-self)/cwd(?=/|$)")
_DISPOSABLE: Final = re.compile(
    r"(?:^|/)(?:build|dist|out|target|node_modules|bower_components|coverage|htmlcov|__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.tox|\.nox"
    r"|\.venv|venv|\.next|\.nuxt|\.svelte-kit|\.parcel-cache|\.turbo|\.gradle|\.cache|\.eggs|[^/]+\.egg-info|\.nyc_output|\.terraform|_build|site|cmake-build-[^/]+"
    r"|package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|Cargo\.lock|poetry\.lock|uv\.lock|Pipfile\.lock|Gemfile\.lock|composer\.lock"
    r"|\.DS_Store|[^/]+\.tsbuildinfo|\.eslintcache|\.stylelintcache|\.coverage|[^/]+\.(?:pyc|pyo|o|obj|class|tmp|temp|swp|bak~?|log|orig|rej))(?:/|$)"
)


class Map(Struct, frozen=True, kw_only=True):
    """The folders that matter, absolute and without a slash at the end."""

    workspace: str
    home: str
    hermes_home: str
    temp: tuple[str, ...]

    @property
    def own(self) -> tuple[str, ...]:
        """Our own folders: the profile's, that of all profiles, and the usual one."""
        above, _, last = self.hermes_home.rpartition("/profiles/")
        shared = (above,) if above and "/" not in last else ()
        return (self.hermes_home, *shared, f"{self.home.rstrip('/')}/.hermes")


def absolute(path: str, cwd: str) -> str:
    """A path from `cwd`, with `.` and `..` taken out; `UNKNOWN` where a part of it that counts is not
    known.
    """
    if path.startswith(UNKNOWN):
        return UNKNOWN
    joined = _joined(path, cwd)
    known, unknown, rest = joined.partition(UNKNOWN)
    if not unknown:
        return joined
    folder = known.rpartition("/")[0]
    if not folder or ".." in rest:
        return UNKNOWN
    # An unknown name below a known folder stays below it, unless it climbs; a known folder with nothing
    # before it says nothing.
    return f"{posixpath.normpath(folder)}/{UNKNOWN}" if known.rstrip("/") else UNKNOWN


def _joined(path: str, cwd: str) -> str:
    """A path from `cwd`, `.` and `..` taken out as they are written, and the names that the kernel has for
    the root and a directory resolved.
    """
    joined = path if path.startswith("/") else f"{cwd}/{path}"
    joined = re.sub(r"/(?:\.?/)+", "/", joined)
    joined = _DIRECTORY_OF_PROCESS.sub(lambda _: cwd, joined)
    return posixpath.normpath(_ROOT_OF_PROCESS.sub("", joined) or "/").replace("//", "/")


def place_of(path: str, cwd: str, folders: Map) -> Place:
    """What a path is; the most guarded kind that fits. `path` may have wildcards."""
    full = absolute(path, cwd)
    if is_own(path if path.startswith(UNKNOWN) else _joined(path, cwd), folders):
        return "own"
    if full == UNKNOWN or UNKNOWN in full.partition("/")[0]:
        return "unknown"
    if is_secret_path(full, folders.home):
        return "secret"
    if full.startswith("/dev/") or full == "/dev":
        return "temp" if _HARMLESS.fullmatch(full) else "device"
    if _is_top(full, folders):
        return "root"
    return _ordinary(full, folders)


def is_within(path: str, folder: str) -> bool:
    """Whether a path is a folder or below it."""
    return bool(folder) and (path == folder or path.startswith(folder.rstrip("/") + "/"))


def _ordinary(full: str, folders: Map) -> Place:
    inside = is_within(full, folders.workspace)
    if is_start_path(full, folders.home) and (not inside or is_within(folders.home, folders.workspace)):
        return "start"
    if inside:
        return _in_workspace(full[len(folders.workspace) :], full == folders.workspace)
    if any(is_within(full, temp) and full not in folders.temp for temp in folders.temp):
        return "temp"
    return "system" if _SYSTEM.match(full) and not is_within(full, folders.home) else "outside"


# The second half of what `below` says
def _in_workspace(below: str, is_itself: bool) -> Place:  # noqa: FBT001
    if not is_itself and _REPOSITORY.search(below):
        return "repository"
    if below.rstrip("/*") and UNKNOWN not in below and _DISPOSABLE.search(below):
        return "disposable"
    return "workspace"


def is_env_file(path: str) -> bool:
    """Whether a path names, or as a pattern may mean, a file of environment variables with real values, or a
    copy of one, not a template.
    """
    name = path.rpartition("/")[2]
    plain = plain_name(name)
    if _ENV_FILE.fullmatch(plain) and not _TEMPLATES.fullmatch(plain):
        return True
    return name.startswith(".") and any(fits_pattern(one, name) for one in _ENV_NAMES)


def is_disposable(path: str) -> bool:
    """Whether a path of the workspace is build output or a cache."""
    return bool(_DISPOSABLE.search(f"/{path.removeprefix('./')}"))


def start_words(path: str, shown: str, folders: Map) -> str:
    """What it means to write at a path that is a `start`, in words."""
    program = starter_of(path, folders.home)
    return f"what is written to {shown} runs by itself, at each start of {program or 'some program'}"


def runs_later(path: str) -> bool:
    """Whether a file in a repository makes git, or another program of the user's, run code later."""
    return steers_git(path) or bool(_RUNS_LATER.search(path))


def is_secret(path: str, folders: Map) -> bool:
    """Whether a path leads to credentials: those of the user's programs, or our own."""
    return is_secret_path(path, folders.home) or is_own_secret(path, folders)


def is_own(path: str, folders: Map) -> bool:
    """Whether a path is ours, or may be."""
    return any(may_lie_in(path, one) for one in folders.own)


def is_own_result(path: str, folders: Map) -> bool:
    """Whether a path of ours holds what tools have put out: no setting, key or tool is kept there."""
    return any(is_within(path, f"{folders.hermes_home}/{name}") for name in ("scratch", "results"))


def is_own_secret(path: str, folders: Map) -> bool:
    """Whether a path leads to our own credentials."""
    return is_own(path, folders) and bool(
        re.search(r"/(?:\.env[^/]*|auth\.json|.*token.*|.*oauth.*|.*credential.*)$", path)
    )


def _is_top(full: str, folders: Map) -> bool:
    bare = full.rstrip("*").rstrip("/") or "/"
    if is_within(folders.workspace, bare) and bare != folders.workspace:
        return bare in {"/", folders.home} or bool(_TOP.fullmatch(bare))
    return bare == folders.home or (
        bool(_TOP.fullmatch(full)) and not is_within(bare, folders.workspace) and bare not in folders.temp
    )
