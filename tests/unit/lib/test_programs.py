from pathlib import Path

import pytest

from hermes.lib.programs import find_program, search_path


def program(folder: Path, name: str = "rg", mode: int = 0o755) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


@pytest.mark.parametrize(
    "brought",
    [
        *("work", "work/.venv/bin", "work/node_modules/.bin", "work/bin", "work/.git/x"),
        *("link-into-work", "work/../work/bin", ".", "", "bin", "./bin", "open-to-all", "work2/../work"),
    ],
)
def test_what_a_workspace_brings_is_passed_over_and_the_next_one_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, brought: str
) -> None:
    for name in ("work", "work/.venv/bin", "work/node_modules/.bin", "work/bin", "work/.git/x", "work2"):
        program(tmp_path / name)
    (tmp_path / "link-into-work").symlink_to(tmp_path / "work" / "bin")
    program(tmp_path / "open-to-all").parent.chmod(0o777)
    installed = program(tmp_path / "installed")
    monkeypatch.chdir(tmp_path / "work")
    relative = brought in {".", "", "bin", "./bin"}
    environ = {"PATH": f"{brought if relative else tmp_path / brought}:{tmp_path}/installed"}
    assert (
        find_program("rg", environ, (tmp_path / "work",)),
        search_path(environ, (tmp_path / "work",)),
    ) == (str(installed), str(installed.parent))


def test_a_link_to_a_program_of_the_workspace_is_passed_over(tmp_path: Path) -> None:
    mine = program(tmp_path / "work")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "rg").symlink_to(mine)
    assert find_program("rg", {"PATH": f"{tmp_path}/bin"}, (tmp_path / "work",)) is None


def test_a_neighbour_with_the_same_beginning_is_no_part_of_the_workspace(tmp_path: Path) -> None:
    near = program(tmp_path / "work-tools")
    assert find_program("rg", {"PATH": f"{tmp_path}/work-tools"}, (tmp_path / "work",)) == str(near)


def test_what_cannot_be_run_is_no_program(tmp_path: Path) -> None:
    program(tmp_path / "a", mode=0o644)
    (tmp_path / "b" / "rg").mkdir(parents=True)
    assert find_program("rg", {"PATH": f"{tmp_path}/a:{tmp_path}/b:{tmp_path}/gone"}, ()) is None


def test_with_the_whole_machine_as_workspace_programs_are_still_found(tmp_path: Path) -> None:
    found = program(tmp_path / "bin")
    assert find_program("rg", {"PATH": str(tmp_path / "bin")}, (Path("/"),)) == str(found)
