"""A secret file is that file by each of its names."""

import os
from pathlib import Path

import pytest

from hermes.environments.local_workspace import LocalWorkspace
from hermes.environments.workspace import WorkspaceOptions
from hermes.types.action import Action, FileAccess, Permit

pytestmark = pytest.mark.anyio


async def test_a_hard_link_to_a_secret_file_is_decided_as_that_and_not_searched(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    work, asked = tmp_path / "work", list[str]()
    (work / "deep").mkdir(parents=True)
    (work / "deep" / ".env").write_text("KEY=elm\n")
    (work / "plain.txt").write_text("elm\n")
    os.link(work / "deep" / ".env", work / "notes.txt")
    os.link(work / "plain.txt", work / "other.txt")

    async def allow(action: Action) -> Permit:
        asked.append(action.path if isinstance(action, FileAccess) else "")
        return Permit.of(action)

    options = WorkspaceOptions(concealed=lambda path: path.endswith("/.env"))
    space = LocalWorkspace(
        work, authorize=allow, environ=environ, scratch=tmp_path / "scratch", options=options
    )
    await space.read("notes.txt")
    await space.read("other.txt")
    found = [Path(match.path).name for match in await space.search("elm")]
    await space.close()
    assert (asked[:2], sorted(found)) == (
        [str(work / "deep" / ".env"), str(work / "other.txt")],
        ["other.txt", "plain.txt"],
    )
