"""Where the home is the workspace, checkpoints leave out its credentials and put back no start file."""

from pathlib import Path

from hermes.agent.undo import checkpoints_of
from hermes.safety.settings import CheckpointSettings
from hermes.store.checkpoints import Checkpoint, Restored


def test_a_home_is_saved_without_what_is_sensitive(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for name in (".ssh/id_rsa", ".bashrc", "work/.ssh/known", "work/notes"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("old")
    kept = checkpoints_of(home / ".hermes", CheckpointSettings(), home)
    about = Checkpoint(
        id="c", at=1.0, command="rm", cwd=str(home), session="s", workspace=str(home), paths=(str(home),)
    )
    saved = kept.save(about, disposable=lambda _path: False)
    assert saved is not None
    assert list(kept.files(saved)) == [
        str(home / name) for name in (".bashrc", "work/.ssh/known", "work/notes")
    ]
    for name in (".bashrc", "work/notes"):
        (home / name).write_text("new")
    assert kept.restore(saved) == Restored((str(home),), (str(home / ".bashrc"),))
    assert [(home / name).read_text() for name in (".bashrc", "work/notes")] == ["new", "old"]
