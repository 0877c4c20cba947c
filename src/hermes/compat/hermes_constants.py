"""`hermes_constants` for one home: where its folders and files are, and what machine this is."""

from pathlib import Path
from typing import Any, Final

from hermes.plugins.aliases import Guest

_EFFORTS: Final = ("minimal", "low", "medium", "high", "xhigh")


def published(guest: Guest) -> dict[str, Any]:
    """The published functions, for the files of one guest."""
    home = guest.home
    user_home = Path(guest.environ.get("HOME") or Path.home())

    def get_hermes_dir(new_subpath: str, old_name: str = "") -> Path:
        """A folder of the home: by its old name where that is there, else the new one."""
        old = home.root / old_name
        return old if old_name and old.exists() else home.root / new_subpath

    def display_hermes_home() -> str:
        """The home as people write it."""
        inside = home.root.is_relative_to(user_home)
        return f"~/{home.root.relative_to(user_home)}" if inside else str(home.root)

    return {
        "get_hermes_home": lambda: home.root,
        "get_default_hermes_root": lambda: home.base,
        "get_hermes_dir": get_hermes_dir,
        "display_hermes_home": display_hermes_home,
        "get_config_path": lambda: home.config_file,
        "get_env_path": lambda: home.env_file,
        "get_skills_dir": lambda: home.skills,
        "is_termux": lambda: Path("/data/data/com.termux").exists(),
        "is_wsl": lambda: "microsoft" in Path("/proc/version").read_text(encoding="utf-8").lower(),
        "is_container": lambda: any(Path(one).exists() for one in ("/.dockerenv", "/run/.containerenv")),
        "parse_reasoning_effort": parse_reasoning_effort,
    }


def parse_reasoning_effort(effort: object) -> dict[str, Any] | None:
    """What a word for how hard a model thinks means; None where it is none."""
    word = str(effort or "").strip().lower()
    if word == "none":
        return {"enabled": False}
    return {"enabled": True, "effort": word} if word in _EFFORTS else None
