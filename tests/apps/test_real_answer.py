"""The README's promise: one command, a real model, real tools, an answer. Needs the built-in model, which scripts/test fetches."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.real_model, pytest.mark.timeout(900)]


def asked(question: str, project: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "hermes", "-z", question],
        cwd=project,
        env={**os.environ, "HERMES_HOME": str(project.parent / "home")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_readme_s_question_is_answered_by_the_real_model_with_real_tools(tmp_path: Path) -> None:
    project = tmp_path / "project"
    for name, lines in {
        "src/shop/cart.py": 12,
        "src/shop/checkout.py": 140,
        "tests/test_cart.py": 31,
        ".venv/lib/vendor.py": 900,
    }.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("value = 1\n" * lines)
    done = asked("How many Python files are in this project, and which one is the longest?", project)
    assert done.returncode == 0, done.stderr
    assert "checkout.py" in done.stdout
    assert {"3", "three"} & set(done.stdout.lower().replace(".", " ").replace(",", " ").split()), done.stdout
    assert "run" in done.stderr


@pytest.mark.slow
def test_what_is_not_there_is_said_and_neither_made_nor_made_up(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    done = asked("Que contient le fichier recette.txt ?", tmp_path / "project")
    assert "(✗ " in done.stdout, done
    assert list((tmp_path / "project").iterdir()) == []
