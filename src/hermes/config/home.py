"""HERMES_HOME and every path in it."""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from hermes.config.unreadable import unreadable
from hermes.lib.lazy import import_object
from hermes.lib.session_ids import is_session_id
from hermes.lib.small_files import read_small
from hermes.types.error import ConfigError

DEFAULT = "default"
_PROFILE = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class Home(Struct, frozen=True, kw_only=True):
    """One profile's folder: `root` holds all that survives a restart."""

    root: Path
    profile: str = DEFAULT

    @property
    def base(self) -> Path:
        """The home of the default profile, which those of others lie in."""
        return self.root if self.profile == DEFAULT else self.root.parents[1]

    @property
    def config_file(self) -> Path:
        """The user's settings, YAML."""
        return self.root / "config.yaml"

    @property
    def env_file(self) -> Path:
        """Keys and other secrets, one NAME=value a line."""
        return self.root / ".env"

    @property
    def soul_file(self) -> Path:
        """Who the agent is, in the user's words; it replaces those that come with Hermes."""
        return self.root / "SOUL.md"

    @property
    def memories(self) -> Path:
        """MEMORY.md and USER.md: what later sessions are told."""
        return self.root / "memories"

    @property
    def auth_file(self) -> Path:
        """Credentials of providers, shared by all processes."""
        return self.root / "auth.json"

    @property
    def trust_file(self) -> Path:
        """In which folders the notes of a project count, as people answered."""
        return self.root / "trust.json"

    @property
    def windows_file(self) -> Path:
        """What was learned of models' windows; it can be deleted."""
        return self.root / "cache" / "windows.json"

    @property
    def sessions_db(self) -> Path:
        """The session store."""
        return self.root / "sessions.db"

    @property
    def original_db(self) -> Path:
        """The session store of the original Hermes Agent, where that has worked here."""
        return self.root / "state.db"

    @property
    def search_db(self) -> Path:
        """The full-text index over the store; it can be deleted and is built again."""
        return self.root / "search.db"

    @property
    def files(self) -> tuple[Path, ...]:
        """What is read here that is no folder."""
        settings = (self.config_file, self.env_file, self.soul_file, self.auth_file, self.trust_file)
        return (*settings, self.windows_file, self.sessions_db, self.search_db, *self.memories.glob("*"))

    @property
    def backups(self) -> Path:
        """Copies of the session store."""
        return self.root / "backups"

    @property
    def tools(self) -> Path:
        """The user's own tool files."""
        return self.root / "tools"

    @property
    def plugins(self) -> Path:
        """The user's plugins, a folder for each, or in folders of categories."""
        return self.root / "plugins"

    @property
    def project_plugins(self) -> Path:
        """The plugins of projects, as they were when they were enabled."""
        return self.root / "project-plugins"

    @property
    def plugin_quarantine(self) -> Path:
        """Where plugins from elsewhere are looked at."""
        return self.root / "cache" / "plugins"

    @property
    def skills(self) -> Path:
        """The user's skills, a folder for each, by category."""
        return self.root / "skills"

    @property
    def skill_cache(self) -> Path:
        """What the front matters of skills say; it can be deleted."""
        return self.root / "cache" / "skills.json"

    @property
    def skill_quarantine(self) -> Path:
        """Where skills from elsewhere are looked through."""
        return self.root / "cache" / "quarantine"

    @property
    def mcp(self) -> Path:
        """What is known of MCP servers, their sign-ins, and a folder for each that runs here."""
        return self.root / "mcp"

    @property
    def published_skills(self) -> Path:
        """Clones in which skills were made ready to be published; they can be deleted."""
        return self.root / "cache" / "published"

    @property
    def results(self) -> Path:
        """Whole results of tools that were too long for the model."""
        return self.root / "results"

    @property
    def trajectories(self) -> Path:
        """Conversations as training examples, where they are kept."""
        return self.root / "trajectories"

    @property
    def scratch(self) -> Path:
        """Shell states and uncut outputs, a folder for each session."""
        return self.root / "scratch"

    def scratch_of(self, session_id: str) -> Path:
        """The folder of one session; ConfigError for an id that is no name of a folder."""
        if not is_session_id(session_id):
            raise ConfigError(
                f"{session_id[:80]!r} is no id of a session: an id is letters, digits, _ and -."
            )
        return self.scratch / session_id

    @property
    def history(self) -> Path:
        """What was typed at the prompt, one file per directory."""
        return self.root / "history"


def locate(environ: Mapping[str, str], profile: str = "") -> Home:
    """The home in force: HERMES_HOME or ~/.hermes, and in it the profile named, or the sticky one, or the
    default; ConfigError for a profile that is not there, and where what is to be read is no file.
    """
    base, name = _base(environ), profile or in_force(environ)
    home = _home_of(base, name)
    _refuse_odd(home.files)
    if name != DEFAULT and not home.root.is_dir():
        known = ", ".join(profiles_of(environ))
        raise ConfigError(
            f"There is no profile {name!r}; there are: {known}. hermes profiles create {name} makes it."
        )
    return home


def _refuse_odd(paths: Iterable[Path]) -> None:
    """ConfigError where reading one of the paths might never end, as of a pipe."""
    for path in paths:
        if _is_odd(path):
            raise ConfigError(f"{path} is a pipe, a socket or a device and no file; move it away.")


def _is_odd(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    plain = stat.S_ISREG(mode) or stat.S_ISDIR(mode)
    return not plain and path.resolve() != Path(os.devnull)  # a way to have none


def in_force(environ: Mapping[str, str]) -> str:
    """The profile that is taken where none is named."""
    return environ.get("HERMES_PROFILE", "") or _sticky(_base(environ)) or DEFAULT


def profiles_of(environ: Mapping[str, str]) -> list[str]:
    """The names of all profiles, the default first."""
    with suppress(OSError):
        found = sorted(one.name for one in (_base(environ) / "profiles").iterdir() if one.is_dir())
        return [DEFAULT, *(name for name in found if _PROFILE.fullmatch(name))]
    return [DEFAULT]


def make_profile(environ: Mapping[str, str], name: str) -> Home:
    """A new profile; ConfigError where the name is none, or taken."""
    home = _home_of(_base(environ), name)
    if name == DEFAULT or home.root.exists():
        raise ConfigError(f"There is a profile {name!r} already.")
    home.root.mkdir(parents=True, mode=0o700)
    return home


def _base(environ: Mapping[str, str]) -> Path:
    return (
        Path(environ.get("HERMES_HOME") or Path(environ.get("HOME") or Path.home()) / ".hermes")
        .expanduser()
        .absolute()
    )


def _home_of(base: Path, name: str) -> Home:
    if name == DEFAULT:
        return Home(root=base)
    if not _PROFILE.fullmatch(name):
        raise ConfigError(
            f"Profile name {name!r} is not valid; use lower-case letters, digits, - and _, at most 64."
        )
    return Home(root=base / "profiles" / name, profile=name)


def stick(environ: Mapping[str, str], name: str) -> None:
    """Have a profile taken where none is named; ConfigError where it is not there."""
    locate(environ, name)
    write = import_object("hermes.lib.files:write_atomic")  # every start passes this module
    write(_base(environ) / "active_profile", f"{name}\n".encode())


def other_homes(root: Path, user_home: Path) -> Iterator[Path]:
    """The homes besides `root` that can be told without a search: that of all its profiles, and those beside
    it or in the user's own folder which were used.
    """
    if root.parent.name == "profiles":
        yield root.parent.parent
    for folder in dict.fromkeys((root.parent, user_home)):
        with suppress(OSError):
            for store in folder.glob("*/sessions.db"):
                if store.parent != root and (store.parent / "scratch").is_dir():
                    yield store.parent


def _sticky(base: Path) -> str:
    try:
        _refuse_odd([base / "active_profile"])
        return read_small(base / "active_profile").decode("utf-8").strip()
    except FileNotFoundError:
        return ""
    except NotADirectoryError as error:
        raise ConfigError(f"{base} is no folder; HERMES_HOME names one.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(base / "active_profile", error) from error
