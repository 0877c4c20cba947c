"""`hermes_constants` for one home: where its folders and files are."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hermes.config.home import Home


def published(home: Home, environ: Mapping[str, str]) -> dict[str, Any]:
    """The published functions, for a plugin of this home."""
    user_home = Path(environ.get("HOME") or Path.home())

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
    }
