"""Commands know the providers of models that plugins bring."""

from pathlib import Path

import pytest

from hermes.config.edit import append_to_list
from hermes.testing import ScriptedModel, ScriptedServer, say
from tests.apps.conftest import Run

CODE = """
from providers import register_provider
from providers.base import ProviderProfile

class Own(ProviderProfile):
    def fetch_models(self, *, api_key=None, base_url=None, timeout=8.0):
        if api_key == "bad-key-0123":
            raise ValueError(f"{api_key} was refused")
        return ["live"]

register_provider(Own(name="own-models", display_name="Own models", env_vars=("OWN_KEY",), base_url="URL",
                      fallback_models=("small",)))
"""


@pytest.fixture
def home(environ: dict[str, str]) -> Path:
    home = Path(environ["HERMES_HOME"])
    folder = home / "plugins" / "model-providers" / "own"
    folder.mkdir(parents=True)
    (folder / "plugin.yaml").write_text("name: own\nkind: model-provider\n")
    (folder / "__init__.py").write_text(CODE.replace("URL", "http://127.0.0.1:1/v1"))
    append_to_list(home / "config.yaml", "plugins.enabled", "model-providers/own")
    return home


def rows(shown: str) -> dict[str, str]:
    return {line.split()[0]: line for line in shown.splitlines() if line.startswith("own-models/")}


def test_it_is_listed_with_the_models_that_its_plugin_asks_for(home: Path, run: Run) -> None:
    without = run("models", "list")
    assert "needs OWN_KEY" in rows(without.stdout)["own-models/…"]
    shown = run("models", "list", OWN_KEY="good-key-0123")
    assert [*rows(shown.stdout)] == ["own-models/live", "own-models/…"]
    failed = run("models", "list", OWN_KEY="bad-key-0123")
    assert [*rows(failed.stdout)] == ["own-models/small", "own-models/…"]
    assert failed.stderr == (
        "The plugin model-providers/own failed at its provider own-models: fetch_models: ValueError: … was refused.\n"
    )


def test_it_is_chosen_keyed_and_checked_like_any_other(home: Path, run: Run) -> None:
    assert run("auth", "add", "own-models", "--key", "-", given="stored-key-0123\n").returncode == 0
    assert run("model", "own-models/small").stdout == "own-models/small answers from now on.\n"
    assert "model: own-models/small at http://127.0.0.1:1/v1" in run("doctor").stdout
    facts = run("models", "info", "own-models/small").stdout
    assert facts.count("the plugin model-providers/own") == 2
    listed = run("plugins", "list").stdout
    assert "model provider own-models" in listed


def test_a_plugin_of_whose_additions_none_was_taken_is_listed_with_the_reason(home: Path, run: Run) -> None:
    start = home / "plugins" / "model-providers" / "own" / "__init__.py"
    start.write_text(CODE.replace("URL", "http://127.0.0.1:1/v1").replace('"OWN_KEY"', '"HOME"'))
    (row,) = [one for one in run("plugins", "list").stdout.splitlines() if "own" in one.split()[0]]
    assert "loaded" in row
    assert "HOME of the provider of models own-models belongs to another" in row


def test_a_turn_from_the_command_line_is_answered_by_it(home: Path, run: Run) -> None:
    with ScriptedServer(ScriptedModel(say("hello from it"))).running() as server:
        start = home / "plugins" / "model-providers" / "own" / "__init__.py"
        start.write_text(CODE.replace("URL", server.base_url))
        done = run("-m", "own-models/small", "-z", "hi", OWN_KEY="good-key-0123")
    assert done.stdout == "hello from it\n"
