"""`hermes auth`, `hermes model` and `hermes models`, as programs, with providers and an identity server on loopback."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes.testing import ScriptedModel, ScriptedServer
from tests.apps.conftest import Done, Run
from tests.unit.models.identity import Identity, running


@pytest.fixture
def home(environ: dict[str, str]) -> Path:
    return Path(environ["HERMES_HOME"])


@pytest.fixture
def identity() -> Iterator[Identity]:
    with running(Identity(polls=["authorization_pending"])) as found:
        yield found


def told(done: Done) -> tuple[int, str]:
    return done.returncode, done.stderr.removeprefix("hermes: ").strip()


def test_a_key_is_piped_in_listed_without_itself_and_removed(run: Run, home: Path) -> None:
    assert run("auth", "add", "or", "--label", "work", given="sk-very-secret\n").returncode == 0
    assert (
        run("auth", "add", "or", "--key", "-", "--label", "home", given="sk-other-secret\n").returncode == 0
    )
    listed = run("auth", "list", OPENAI_API_KEY="sk-of-environment")
    assert [line.split()[:1] + line.split()[2:] for line in listed.stdout.splitlines()] == [
        ["openai", "OPENAI_API_KEY", "api_key", "0", "uses", "ok"],
        ["openrouter", "work", "api_key", "0", "uses", "ok"],
        ["openrouter", "home", "api_key", "0", "uses", "ok"],
    ]
    assert "sk-" not in listed.stdout + listed.stderr
    assert (home / "auth.json").stat().st_mode & 0o777 == 0o600
    assert "several such credential" in run("auth", "remove", "or").stderr
    assert run("auth", "remove", "openrouter", "work").returncode == 0
    assert [
        one["label"] for one in json.loads((home / "auth.json").read_text())["providers"]["openrouter"]
    ] == ["home"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("openrouter", "--key", "sk-1"), "A key on the command line stays in the shell's history"),
        (
            ("openrouter",),
            "There is no key on standard input. Pipe it in (hermes auth add openrouter < FILE), or run this in a",
        ),
        (("opnrouter",), "There is no provider 'opnrouter'. Did you mean openrouter?"),
        (
            ("nous",),
            "Signing in to nous needs client_id, which is not published; set it with: hermes config set providers.nous.sign_in.client_id VALUE",
        ),
        (("copilot-acp",), "copilot-acp runs a program of GitHub's"),
        (
            ("groq", "--device", "--keyring"),
            "Give one of --key, --command, --keyring, --device and --browser.",
        ),
        (("groq", "--command", "'"), "--command cannot be read as words"),
    ],
)
def test_what_cannot_be_added_is_told_in_a_sentence(
    run: Run, home: Path, arguments: tuple[str, ...], words: str
) -> None:
    code, sentence = told(run("auth", "add", *arguments))
    assert (code, sentence.startswith(words), (home / "auth.json").exists()) == (2, True, False)


def own_server(run: Run, address: str) -> None:
    assert run("config", "set", "providers.groq.base_url", address).returncode == 0


def test_each_credential_is_tried_at_the_provider(run: Run, identity: Identity) -> None:
    own_server(run, identity.base)
    identity.valid = {"good", "by-command"}
    run("auth", "add", "groq", "--label", "first", given="good\n")
    run("auth", "add", "groq", "--label", "second", given="bad\n")
    run("auth", "add", "groq", "--label", "third", "--command", "echo by-command")
    done = run("auth", "test", "groq", GROQ_API_KEY="bad-too")
    assert (done.returncode, done.stdout.splitlines()) == (
        1,
        [
            "✗ groq GROQ_API_KEY: who are you (401)",
            f"✓ groq first: taken by {identity.base}",
            "✗ groq second: who are you (401)",
            f"✓ groq third: taken by {identity.base}",
        ],
    )


RING = """
import json, pathlib
from keyring.backend import KeyringBackend

PATH = pathlib.Path(__file__).with_name("ring.json")


class Ring(KeyringBackend):
    priority = 1

    def _all(self):
        return json.loads(PATH.read_text()) if PATH.exists() else {}

    def get_password(self, service, username):
        return self._all().get(f"{service}:{username}")

    def set_password(self, service, username, password):
        PATH.write_text(json.dumps({**self._all(), f"{service}:{username}": password}))

    def delete_password(self, service, username):
        PATH.write_text(json.dumps({name: value for name, value in self._all().items() if name != f"{service}:{username}"}))
"""


def test_a_key_in_the_key_ring_is_in_no_file_of_ours(
    run: Run, home: Path, identity: Identity, tmp_path: Path
) -> None:
    (tmp_path / "ring.py").write_text(RING)
    ring = {"PYTHON_KEYRING_BACKEND": "ring.Ring", "PYTHONPATH": str(tmp_path)}
    own_server(run, identity.base)
    identity.valid = {"rung-key"}
    done = run("auth", "add", "groq", "--keyring", "--label", "ring", given="rung-key\n", **ring)
    assert done.returncode == 0, done.stderr
    assert "rung-key" not in (home / "auth.json").read_text()
    assert run("auth", "test", "groq", **ring).stdout == f"✓ groq ring: taken by {identity.base}\n"
    run("auth", "remove", "groq", "ring", **ring)
    assert json.loads((tmp_path / "ring.json").read_text()) == {}


def test_a_key_ring_that_is_locked_is_told(run: Run, home: Path) -> None:
    locked = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
    code, sentence = told(run("auth", "add", "groq", "--keyring", given="k\n", **locked))
    assert (code, sentence) == (
        2,
        "The system's key ring did not take the key (NoKeyringError); leave out --keyring.",
    )
    assert not (home / "auth.json").exists()


def test_signing_in_with_a_code_keeps_tokens_that_open_the_door(
    run: Run, home: Path, identity: Identity
) -> None:
    own_server(run, identity.base)
    for name, value in (
        ("client_id", "us"),
        ("device_url", f"{identity.base}/device"),
        ("token_url", f"{identity.base}/token"),
    ):
        run("config", "set", f"providers.groq.sign_in.{name}", value)
    done = run("auth", "add", "groq", "--device", "--label", "me")
    assert done.returncode == 0, done.stderr
    assert f"Open {identity.base}/activate and enter the code ABCD-EFGH" in done.stderr
    (row,) = json.loads((home / "auth.json").read_text())["providers"]["groq"]
    assert (row["kind"], row["secret"], row["refresh_token"], row["client_id"]) == (
        "oauth",
        "access-1",
        "refresh-1",
        "us",
    )
    assert run("auth", "test", "groq").stdout == f"✓ groq me: taken by {identity.base}\n"


def test_signing_in_with_a_browser(environ: dict[str, str], run: Run, home: Path, identity: Identity) -> None:
    for name, value in (
        ("client_id", "us"),
        ("authorize_url", f"{identity.base}/authorize"),
        ("token_url", f"{identity.base}/token"),
    ):
        run("config", "set", f"providers.groq.sign_in.{name}", value)
    words = [sys.executable, "-m", "hermes", "auth", "add", "groq", "--browser"]
    with subprocess.Popen(
        words,
        env=environ,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stderr
        assert "Open this address" in child.stderr.readline()
        address = child.stderr.readline().strip()
        visit = "import sys, urllib.request as u; u.urlopen(u.urlopen(sys.argv[1]).read().decode())"
        subprocess.run([sys.executable, "-c", visit, address], check=True, env={"no_proxy": "*"})
        assert child.wait(20) == 0
    assert json.loads((home / "auth.json").read_text())["providers"]["groq"][0]["secret"] == "access-1"


def test_credentials_that_rest_are_shown_and_can_be_let_go(run: Run, home: Path) -> None:
    run("auth", "add", "groq", given="k\n")
    path = home / "auth.json"
    tree = json.loads(path.read_text())
    tree["providers"]["groq"][0].update(
        status="exhausted", exhausted_until=time.time() + 1800, last_error="slow down"
    )
    path.write_text(json.dumps(tree))
    assert re.search(r"0 uses  rests (29|30) min: slow down", run("auth", "list").stdout)
    assert run("auth", "reset", "groq").stdout == "1 credential may be used again.\n"
    assert run("auth", "list").stdout.endswith("ok\n")


def test_a_question_is_answered_with_a_stored_key(run: Run, home: Path) -> None:
    model = ScriptedModel("Hello.")
    with ScriptedServer(model).running() as server:
        run("config", "set", "providers.groq.base_url", server.base_url)
        run("auth", "add", "groq", given="stored-key\n")
        done = run("-z", "hi", "-m", "groq/anything")
    assert (done.stdout, done.returncode) == ("Hello.\n", 0), done.stderr
    assert "✓ model: groq/anything at" in run("-m", "groq/anything", "doctor").stdout
    assert "stored-key" not in done.stdout + done.stderr + "".join(
        path.read_text(errors="replace") for path in home.glob("*.db")
    )


def test_a_damaged_file_of_credentials_is_told_and_left_alone(run: Run, home: Path) -> None:
    home.mkdir()
    (home / "auth.json").write_text("{broken")
    code, sentence = told(run("auth", "list"))
    assert (
        code,
        "auth.json cannot be read (line 1 is not JSON); mend it, or move it away and sign in again."
        in sentence,
    ) == (1, True)
    assert (home / "auth.json").read_text() == "{broken"


def test_the_model_is_shown_and_chosen(run: Run) -> None:
    assert run("model").stdout.startswith("local/")
    assert run("model", "gpt-5.2", OPENAI_API_KEY="k").stdout == "openai/gpt-5.2 answers from now on.\n"
    assert run("model", OPENAI_API_KEY="k").stdout == "openai/gpt-5.2\n"
    assert told(run("model", "groq/x"))[1].startswith(
        "No key for groq: set GROQ_API_KEY in the environment or in .env (hermes config set GROQ_API_KEY KEY), or"
        " store it with: hermes auth add groq."
    )
    assert run("config", "get", "model.default").stdout == "openai/gpt-5.2\n"


def test_a_model_of_ones_own_server_is_chosen_with_its_address(run: Run) -> None:
    address = "http://127.0.0.1:9/v1"
    assert run("--base-url", address, "model").stdout == f"custom/default {address}\n"
    chosen = run("--base-url", address, "model", "org/mine")
    assert chosen.stdout == f"custom/org/mine answers from now on. It is at {address}.\n"
    assert run("model").stdout == f"custom/org/mine {address}\n"
    assert run("model", "org/other").stdout == f"custom/org/other answers from now on. It is at {address}.\n"
    assert told(run("model", "groq/x"))[1].startswith("No key for groq: set GROQ_API_KEY")


def test_models_are_listed_searched_and_explained(run: Run) -> None:
    listed = run("models", "list", CEREBRAS_API_KEY="k").stdout
    assert re.search(
        r"cerebras/gpt-oss-120b +key in CEREBRAS_API_KEY +131k tokens, \$0.35 in, \$0.75 out", listed
    )
    assert (
        "groq/llama-3.3-70b-versatile" in listed,
        "groq/llama-3.3-70b-versatile" in run("models", "list", "--all").stdout,
    ) == (
        False,
        True,
    )
    assert "anthropic/claude-opus-5 " in run("models", "search", "OPUS", "claude").stdout
    assert told(run("models", "search", "no-such-model"))[0] == 2
    rows = {
        line.split("  ")[0]: line
        for line in run("models", "info", "claude/claude-haiku-4-5-20251001").stdout.splitlines()
    }
    assert re.search(r"anthropic_messages +by the provider", rows["protocol"])
    assert re.search(r"200,000 tokens +models.toml", rows["window"])
    assert re.search(r"input 1, output 5, cache read 0.1, cache write 1.25 +models.toml", rows["price"])
    assert "needs ANTHROPIC_API_KEY" in rows["key"]
