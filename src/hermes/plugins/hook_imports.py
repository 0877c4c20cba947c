"""Keep the Pythons that hooks start from importing what a session may have written."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from hermes.plugins.hook_consent import files_named
from hermes.plugins.settings import ShellHook

_KEPT: Final = ".claude/hooks"
"""The folder of a project that no session writes to."""


def import_variables(hook: ShellHook, project: Path | None, environ: Mapping[str, str]) -> dict[str, str]:
    """Variables by which Python imports nothing from the folder that it starts in or that of a script: from
    those of the named scripts only where no session writes.
    """
    top = (project or Path.cwd()).resolve()
    scripts = (one.resolve() for one in files_named(hook, project) if one.suffix == ".py")
    folders = [str(one.parent) for one in scripts if _is_kept(one, top)]
    paths = os.pathsep.join(filter(None, (*dict.fromkeys(folders), environ.get("PYTHONPATH"))))
    return {"PYTHONSAFEPATH": "1", **({"PYTHONPATH": paths} if paths else {})}


def _is_kept(file: Path, top: Path) -> bool:
    return not file.is_relative_to(top) or file.is_relative_to(top / _KEPT)
