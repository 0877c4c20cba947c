"""The built-in model is made ready before anybody waits for it: with its download, and while the first message is typed."""

import os
import subprocess
import sys
from pathlib import Path

import anyio
import psutil
import pytest

from tests.apps.screen import Terminal
from tests.small_model import ALIAS, small_model

pytestmark = [pytest.mark.real_model, pytest.mark.timeout(600)]


@pytest.fixture
def own(tmp_path: Path) -> dict[str, str]:
    """The variables of somebody who has fetched the model and not used it yet."""
    file = anyio.run(small_model)
    models = tmp_path / "cache" / "models"
    models.mkdir(parents=True)
    for one in file.parent.glob(f"{ALIAS}.*"):
        (models / one.name).symlink_to(one)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "HERMES_HOME": str(tmp_path / "home"),
        "HERMES_CACHE": str(models.parent),
        "HERMES_MODEL": f"local/{ALIAS}",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "ACME_API_KEY": "none of a model's business",
    }


def test_a_pull_leaves_the_state_that_a_first_session_begins_with(
    own: dict[str, str], tmp_path: Path
) -> None:
    pull = [sys.executable, "-m", "hermes", "models", "pull", ALIAS]
    done = subprocess.run(pull, env=own, cwd=tmp_path, capture_output=True, text=True, check=False)
    models = tmp_path / "cache" / "models"
    assert (done.returncode, done.stdout) == (0, f"{models / ALIAS}.gguf\n")
    (state,) = (models / "states").iterdir()
    made = state.stat().st_mtime_ns
    ask = [sys.executable, "-m", "hermes", "-z", "Hello!"]
    answered = subprocess.run(ask, env=own, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (answered.returncode, bool(answered.stdout.strip())) == (0, True), answered.stderr
    assert [(one, one.stat().st_mtime_ns) for one in (models / "states").iterdir()] == [(state, made)]


def test_the_first_key_of_a_message_loads_it(own: dict[str, str], tmp_path: Path) -> None:
    with Terminal([sys.executable, "-m", "hermes"], cwd=tmp_path, env=own) as terminal:
        terminal.until("? keys", 40)
        (program,) = (one for one in psutil.Process().children() if "hermes" in one.cmdline())
        assert engines(program) == []
        terminal.type("h")
        terminal.until(lambda: len(engines(program)) == 1)
        assert "ACME_API_KEY" not in engines(program)[0].environ()
        terminal.type("\x7f\x04")
        assert terminal.wait(30) == 0, terminal.everything


def engines(program: psutil.Process) -> list[psutil.Process]:
    return [one for one in program.children() if "hermes.models.local.engine" in one.cmdline()]
