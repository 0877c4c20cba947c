"""`hermes models info` of a model on a server of one's own."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hermes.config.edit import append_to_list

from .conftest import Run


class Listing(BaseHTTPRequestHandler):
    """A server that tells of two models, of one of them its window."""

    def do_GET(self) -> None:
        rows = [
            {"id": "fake-1", "context_length": 20_000},
            {"id": "fake-2"},
            {"id": "x", "context_length": 9_000},
        ]
        body = json.dumps({"data": rows}).encode() if self.path == "/v1/models" else b""
        self.send_response(200 if body else 404)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Listing) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def facts(text: str) -> dict[str, str]:
    """What and value."""
    return {line[:15].strip(): line[15:].partition("  ")[0] for line in text.splitlines()}


def test_a_model_of_ones_own_server_is_told_of_by_the_name_that_everything_calls_it(
    program: Run, address: str
) -> None:
    shown = facts(program("--base-url", address, "models", "info", "custom/fake-1").stdout)
    assert {name: shown[name] for name in ("model", "provider", "address", "window", "key")} == {
        "model": "custom/fake-1",
        "provider": "your own server",
        "address": address,
        "window": "20,000 tokens",
        "key": "needs no key",
    }
    other = program("--base-url", address, "models", "info", "custom/fake-2").stdout
    assert "128,000 tokens" in other
    assert "assumed: nobody told" in other


def test_where_no_server_is_set_one_sentence_says_what_tells_of_it(program: Run) -> None:
    done = program("models", "info", "custom/fake-1")
    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        "",
        (
            "hermes: custom/fake-1 is a model of your own server, whose address is not known here: hermes --base-url"
            " URL models info custom/fake-1 asks it, and model.base_url keeps the address.\n"
        ),
    )


def test_a_model_that_cannot_be_had_is_told_with_the_setting_that_names_it(run: Run) -> None:
    run("config", "set", "model.default", "nowhere/m")
    told = "There is no provider 'nowhere'."
    where = "nowhere/m is what model.default says (config.yaml line 2)."
    for said in (run("doctor").stdout, run("-z", "hi").stderr):
        (row,) = [row for row in said.splitlines() if told in row]
        assert row.endswith(where)
    assert "model.default" not in run("-m", "nowhere/m", "-z", "hi").stderr


def test_the_list_of_models_has_the_addresses_in_force(run: Run) -> None:
    shown = run("models", "list", GEMINI_BASE_URL="http://127.0.0.1:1/v1").stdout
    places = {line.split()[0]: line.split()[-1] for line in shown.splitlines()}
    assert (places["gemini/…"], places["novita/…"]) == (
        "http://127.0.0.1:1/v1",
        "https://api.novita.ai/openai/v1",
    )
    assert "${" not in shown


def test_models_of_a_provider_that_a_plugin_brings_are_asked_for_at_its_own_address_for_that(
    environ: dict[str, str], run: Run, address: str
) -> None:
    home = Path(environ["HERMES_HOME"])
    folder = home / "plugins" / "own"
    folder.mkdir(parents=True)
    (folder / "plugin.yaml").write_text("name: own\nkind: model-provider\n")
    (folder / "__init__.py").write_text(
        "from providers import register_provider\nfrom providers.base import ProviderProfile\n"
        f"register_provider(ProviderProfile('own', base_url='http://127.0.0.1:1/v1', models_url='{address}/models'))\n"
    )
    append_to_list(home / "config.yaml", "plugins.enabled", "own")
    listed = [line.split()[0] for line in run("models", "list").stdout.splitlines() if "own/" in line]
    assert listed == ["own/fake-1", "own/fake-2", "own/x", "own/…"]
