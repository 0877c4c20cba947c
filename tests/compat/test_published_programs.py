"""A program around AIAgent, and classes of providers, written after the modules that answer for them."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from hermes.testing import ScriptedModel, ScriptedServer, say
from tests.compat.test_published_modules import plugin, result
from tests.scenarios.planted_plugins import Plant, configure, opened

pytestmark = pytest.mark.anyio
IMAGES = """
from agent.image_gen_provider import (
    DEFAULT_ASPECT_RATIO, ImageGenProvider, error_response, normalize_reference_images, resolve_aspect_ratio,
    save_b64_image, success_response,
)

class Dots(ImageGenProvider):
    @property
    def name(self):
        return "dots"

    def list_models(self):
        return [{"id": "dot-1"}]

    def generate(self, prompt, aspect_ratio=DEFAULT_ASPECT_RATIO, **keywords):
        if not prompt:
            return error_response(error="no prompt", error_type="invalid_argument", provider=self.name)
        place = save_b64_image(prompt, prefix="dots")
        return success_response(image=str(place), model=self.default_model(), prompt=prompt, provider=self.name,
                                aspect_ratio=resolve_aspect_ratio(aspect_ratio), extra={"model": "x", "seed": 1})

def register(ctx):
    ctx.register_image_gen_provider(Dots())
"""
PROFILE = """
from providers import register_provider
from providers.base import OMIT_TEMPERATURE, ProviderProfile

def register(ctx):
    register_provider(ProviderProfile(name="own-models", base_url="http://127.0.0.1:1/v1", temperature=OMIT_TEMPERATURE))
"""
PROGRAM = """
import json
import sys
from run_agent import AIAgent
from hermes_state import SessionDB

agent = AIAgent(base_url=sys.argv[1], model="m", quiet_mode=True, enabled_toolsets=["todo"])
first = agent.chat("Who?")
told = []
second = agent.run_conversation("Where?", stream_callback=told.append)
store = SessionDB()
rows = store.list_sessions_rich(limit=5)
agent.close()
try:
    store.create_session
except AttributeError as error:
    refused = str(error)
print(json.dumps([first, "".join(told), second["final_response"], second["completed"], second["messages"], len(rows),
    [one["content"] for one in store.get_messages(rows[0]["id"])], refused]))
"""


async def test_a_maker_of_pictures_keeps_them_in_the_home(environ: dict[str, str], plant: Plant) -> None:
    plant("dots", IMAGES)
    configure(environ, enabled=["dots"])
    async with opened(environ) as runtime:
        (kept,) = runtime.services.extensions.of_kind("image_gen_provider")
        made = kept.value.generate(base64.b64encode(b"...").decode(), "portrait")
        refused = kept.value.generate("")
    place = Path(made.pop("image"))
    assert made == {
        "success": True,
        "model": "dot-1",
        "prompt": "Li4u",
        "provider": "dots",
        "aspect_ratio": "portrait",
        "seed": 1,
    }
    assert (place.parent, place.read_bytes()) == (Path(environ["HERMES_HOME"]) / "cache" / "images", b"...")
    assert refused == {
        "success": False,
        "error": "no prompt",
        "error_type": "invalid_argument",
        "provider": "dots",
    }


async def test_a_provider_of_models_is_kept(environ: dict[str, str], plant: Plant) -> None:
    plant("own", PROFILE)
    configure(environ, enabled=["own"])
    async with opened(environ) as runtime:
        assert [one.provides for one in runtime.plugins] == [("model provider own-models",)]
        (kept,) = runtime.services.extensions.of_kind("model_provider")
    assert (kept.value.name, kept.value.api_mode, kept.value.env_vars) == (
        "own-models",
        "chat_completions",
        (),
    )


@pytest.mark.parametrize(
    ("imports", "body", "given"),
    [
        (
            "from agent.tts_provider import DEFAULT_OUTPUT_FORMAT, TTSProvider",
            (
                "class Voice(TTSProvider):\n    name = 'voice'\n    def synthesize(self, text, output_path, **wanted):\n        return output_path\n"
                "return json.dumps([Voice().synthesize('a', 'b'), Voice().list_voices(), DEFAULT_OUTPUT_FORMAT])"
            ),
            ["b", [], "mp3"],
        ),
        (
            "from agent.transcription_provider import TranscriptionProvider",
            (
                "class Ear(TranscriptionProvider):\n    name = 'ear'\n    def transcribe(self, file_path, **wanted):\n        return {'success': True}\n"
                "return json.dumps([Ear().transcribe('a'), Ear().is_available(), Ear().display_name])"
            ),
            [{"success": True}, True, "Ear"],
        ),
        (
            "from agent.browser_provider import BrowserProvider",
            "try:\n    BrowserProvider()\nexcept TypeError as error:\n    return json.dumps('abstract' in str(error))",
            True,
        ),
        (
            "from agent.secret_sources.base import ErrorKind, FetchResult, is_valid_env_name",
            (
                "found = FetchResult()\nfound.error, found.error_kind = 'no', ErrorKind.TIMEOUT\n"
                "return json.dumps([found.ok, FetchResult().ok, is_valid_env_name('A_1'), is_valid_env_name('1A')])"
            ),
            [False, True, True, False],
        ),
        (
            "from hermes_constants import get_skills_dir, parse_reasoning_effort, is_termux",
            "return json.dumps([get_skills_dir().name, parse_reasoning_effort('HIGH'), parse_reasoning_effort('x'), is_termux()])",
            ["skills", {"enabled": True, "effort": "high"}, None, False],
        ),
        (
            "from gateway.platform_registry import PlatformEntry, platform_registry",
            (
                "platform_registry.register(PlatformEntry(name='pager', label='P', adapter_factory=id, check_fn=bool))\n"
                "return json.dumps([platform_registry.is_registered('pager'), platform_registry.get('x'), len(platform_registry.all_entries())])"
            ),
            [True, None, 1],
        ),
    ],
)
async def test_a_tool_uses_a_published_class(
    environ: dict[str, str], plant: Plant, imports: str, body: str, given: Any
) -> None:
    plant("own", plugin(imports, *body.splitlines()))
    configure(environ, enabled=["own"])
    async with opened(environ) as runtime:
        assert await result(runtime) == given


async def test_a_program_around_an_agent_talks_to_a_model_and_reads_its_session(
    environ: dict[str, str], tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    with ScriptedServer(ScriptedModel(say("I."), say("Here."))).running() as server:
        command = [sys.executable, "-m", "hermes.compat", str(program), server.base_url]
        run = lambda: subprocess.run(command, env={**os.environ, **environ}, capture_output=True, text=True)  # noqa: E731, PLW1510
        done = await anyio.to_thread.run_sync(run)
    assert done.stderr == ""
    said = ["Who?", "I.", "Where?", "Here."]
    roles = ["user", "assistant"] * 2
    messages = [{"role": role, "content": text} for role, text in zip(roles, said, strict=True)]
    refused = "SessionDB.create_session is not offered: sessions are read here, and written by Hermes."
    assert json.loads(done.stdout) == ["I.", "Here.", "Here.", True, messages, 1, said, refused]
