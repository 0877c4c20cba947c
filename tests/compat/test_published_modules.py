"""Files as third parties write them, for each of the original's modules: loaded by our loader, and run."""

import json
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from hermes.runtime import Runtime
from hermes.testing import say
from tests.scenarios.planted_plugins import Plant, configure, opened

pytestmark = pytest.mark.anyio
PLUGIN = """
import json
{imports}

def told(args, **keywords):
{body}

def register(ctx):
    ctx.register_tool("told", "own", {{"name": "told", "parameters": {{"type": "object"}}}}, told)
"""


def plugin(imports: str, *body: str) -> str:
    return PLUGIN.format(imports=imports, body="\n".join(f"    {line}" for line in body))


async def result(runtime: Runtime) -> Any:
    assert [one.faults for one in runtime.plugins] == [()]
    return json.loads(await anyio.to_thread.run_sync(lambda: runtime.registry.dispatch("told", {})))


@pytest.mark.parametrize(
    ("imports", "body", "given"),
    [
        (
            "from utils import base_url_host_matches, env_int, is_truthy_value, safe_json_loads",
            (
                "return json.dumps([base_url_host_matches('https://api.x.ai/v1', 'x.ai'), env_int('COUNT', 1), env_int('NONE', 2),"
                " is_truthy_value(' Yes '), safe_json_loads('{', 3)])"
            ),
            [True, 7, 2, True, 3],
        ),
        (
            "from utils import atomic_json_write, atomic_yaml_write\nfrom hermes_constants import get_hermes_home",
            (
                "place = get_hermes_home() / 'own' / 'a.json'\natomic_json_write(place, {'a': 1})\n"
                "atomic_yaml_write(place.with_suffix('.yaml'), {'a': [1]})\n"
                "return json.dumps([place.read_text(), place.with_suffix('.yaml').read_text()])"
            ),
            ['{\n  "a": 1\n}', "a: [1]\n"],
        ),
        (
            "from hermes_cli.config import get_env_value, remove_env_value, save_env_value",
            (
                "save_env_value('OWN', 'it is')\nfirst = get_env_value('OWN')\nremove_env_value('OWN')\n"
                "return json.dumps([first, get_env_value('OWN'), get_env_value('COUNT')])"
            ),
            ["it is", None, "7"],
        ),
        (
            "from hermes_cli.config import load_config, read_raw_config, save_config",
            (
                "save_config({'agent': {'max_turns': 9}})\n"
                "return json.dumps([load_config()['agent']['max_turns'], read_raw_config()['agent']])"
            ),
            [9, {"max_turns": 9}],
        ),
        (
            "from hermes_cli.profiles import get_active_profile_name",
            "return json.dumps(get_active_profile_name())",
            "default",
        ),
        (
            "from tools.interrupt import is_interrupted, set_interrupt",
            (
                "before = is_interrupted()\nset_interrupt(True)\nafter = is_interrupted()\nset_interrupt(False)\n"
                "return json.dumps([before, after, is_interrupted()])"
            ),
            [False, True, False],
        ),
        (
            "from tools.lazy_deps import ensure",
            "ensure('json')\ntry:\n    ensure('search.nowhere-to-be-found')\nexcept ImportError as error:\n    return json.dumps(str(error))",
            "search.nowhere-to-be-found needs a package that is not installed: pip install nowhere-to-be-found",
        ),
        (
            "from tools.url_safety import is_safe_url\nfrom tools.website_policy import check_website_access",
            (
                "return json.dumps([is_safe_url('http://127.0.0.1/'), is_safe_url('https://8.8.8.8/x'), is_safe_url('file:///etc'),"
                " check_website_access('https://8.8.8.8/'), check_website_access('http://10.0.0.1/')['host']])"
            ),
            [False, True, False, None, "10.0.0.1"],
        ),
        (
            "from agent.redact import redact_sensitive_text",
            "return json.dumps('hunter22' in redact_sensitive_text('postgres://me:hunter22@db/x'))",
            False,
        ),
        (
            "from agent.file_safety import get_read_block_error, raise_if_read_blocked\nfrom hermes_constants import get_env_path",
            (
                "raise_if_read_blocked('/etc/hostname')\n"
                "return json.dumps([get_read_block_error('/etc/hostname'), bool(get_read_block_error(get_env_path()))])"
            ),
            [None, True],
        ),
        (
            "from agent.async_utils import safe_schedule_threadsafe\nfrom model_tools import _run_async",
            "async def one():\n    return 1\nreturn json.dumps([safe_schedule_threadsafe(one(), None), _run_async(one())])",
            [None, 1],
        ),
        (
            "from hermes_cli.plugins import get_plugin_manager, has_hook, invoke_hook",
            "return json.dumps([has_hook('on_session_start'), invoke_hook('on_session_start'), get_plugin_manager().has_hook('x')])",
            [False, [], False],
        ),
        (
            (
                "from gateway.config import Platform, PlatformConfig, load_gateway_config\n"
                "from gateway.session import SessionSource, build_session_key"
            ),
            (
                "group = SessionSource(platform=Platform('Pager'), chat_id='7', chat_type='group', user_id='u')\n"
                "direct = SessionSource(platform=Platform.TELEGRAM, chat_id='8', thread_id='t')\n"
                "return json.dumps([build_session_key(group), build_session_key(direct), Platform('pager') is group.platform,"
                " PlatformConfig().enabled, list(load_gateway_config().platforms)])"
            ),
            ["agent:main:pager:group:7:u", "agent:main:telegram:dm:8:t", True, False, []],
        ),
        (
            "from hermes_state import SessionDB",
            "store = SessionDB()\nreturn json.dumps([store.get_session('x'), store.list_sessions_rich(limit=3), store.get_messages('x')])",
            [None, [], []],
        ),
    ],
)
async def test_a_tool_uses_a_published_module(
    environ: dict[str, str], plant: Plant, imports: str, body: str, given: Any
) -> None:
    plant("own", plugin(imports, *body.splitlines()))
    configure(environ, enabled=["own"])
    async with opened({**environ, "COUNT": "7"}) as runtime:
        assert await result(runtime) == given


async def test_a_plugin_asks_a_model_by_the_auxiliary_client(environ: dict[str, str], plant: Plant) -> None:
    code = plugin(
        "from agent.auxiliary_client import call_llm, extract_content_or_reasoning",
        "answer = call_llm('title', messages=[{'role': 'user', 'content': 'a title?'}], max_tokens=9, main_runtime=None)",
        "return json.dumps([extract_content_or_reasoning(answer), answer.choices[0].message.role])",
    )
    plant("own", code)
    configure(environ, enabled=["own"])
    config = Path(environ["HERMES_HOME"]) / "config.yaml"
    config.write_text(config.read_text() + "\nmodel: {default: m, base_url: 'http://127.0.0.1:1/v1'}\n")
    async with opened(environ, say(" A title ")) as runtime:
        assert await result(runtime) == ["A title", "assistant"]


WEB = """
import json
from agent.web_search_provider import WebSearchProvider, get_provider_env

class Found(WebSearchProvider):
    @property
    def name(self):
        return "found-it"

    def is_available(self):
        return bool(get_provider_env("FOUND_KEY"))

    def search(self, query, limit=5):
        return {"success": True, "data": {"web": [{"title": query, "url": "https://x.example"}][:limit]}}

def register(ctx):
    ctx.register_web_search_provider(Found())
"""
PLATFORM = """
from gateway.config import Platform, PlatformConfig
from gateway.platforms.base import BasePlatformAdapter, MessageEvent, MessageType, SendResult, cache_image_from_bytes

class Pager(BasePlatformAdapter):
    def __init__(self, config, **keywords):
        super().__init__(config=config, platform=Platform("pager"))
        self.sent = []

    async def connect(self, *, is_reconnect=False):
        self._mark_connected()
        return True

    async def disconnect(self):
        self._mark_disconnected()

    async def send(self, chat_id, content, reply_to=None, metadata=None):
        self.sent.append((chat_id, content))
        return SendResult(success=True, message_id="1")

    async def get_chat_info(self, chat_id):
        return {"name": chat_id, "type": "dm"}

    async def hear(self, text):
        picture = cache_image_from_bytes(b"...", ".png")
        source = self.build_source(chat_id=7, user_id="u")
        await self.handle_message(MessageEvent(text=text, message_type=MessageType.PHOTO, source=source, media_urls=[picture]))

def register(ctx):
    ctx.register_platform(name="pager", label="Pager", adapter_factory=lambda config: Pager(config), check_fn=lambda: True)
"""


async def test_a_web_provider_is_kept_and_searches(environ: dict[str, str], plant: Plant) -> None:
    plant("found", WEB)
    configure(environ, enabled=["found"])
    async with opened({**environ, "FOUND_KEY": "k"}) as runtime:
        assert [one.provides for one in runtime.plugins] == [("web search provider found-it",)]
        (kept,) = runtime.services.extensions.of_kind("web_search_provider")
        one = kept.value
        assert (one.display_name, one.is_available(), one.supports_search(), one.supports_extract()) == (
            "Found It",
            True,
            True,
            False,
        )
        assert one.search("cats", limit=1)["data"]["web"] == [{"title": "cats", "url": "https://x.example"}]
        with pytest.raises(NotImplementedError, match="found-it does not read pages"):
            one.extract(["https://x.example"])


async def test_a_platform_is_kept_sends_and_says_that_nobody_listens(
    environ: dict[str, str], plant: Plant
) -> None:
    plant("pager", PLATFORM)
    configure(environ, enabled=["pager"])
    async with opened(environ) as runtime:
        (kept,) = runtime.services.extensions.of_kind("platform")
        adapter = kept.value["adapter_factory"](None)
        assert (await adapter.connect(), adapter.is_connected, adapter.name) == (True, True, "Pager")
        assert ((await adapter.send("7", "hello")).message_id, adapter.sent) == ("1", [("7", "hello")])
        with pytest.raises(
            NotImplementedError, match="Hermes has no gateway yet: what comes in by Pager reaches"
        ):
            await adapter.hear("look")
        await adapter.disconnect()
    (picture,) = (Path(environ["HERMES_HOME"]) / "cache" / "images").iterdir()
    assert (adapter.is_connected, picture.read_bytes(), picture.suffix) == (False, b"...", ".png")


async def test_a_hook_that_a_plugin_calls_reaches_the_others(environ: dict[str, str], plant: Plant) -> None:
    code = plugin(
        "from hermes_cli.plugins import has_hook, invoke_hook",
        "invoke_hook('on_session_start', session_id='s', model='m', platform='cli')",
        "return json.dumps([has_hook('on_session_start'), heard])",
    ).replace(
        "def register(ctx):",
        "heard = []\n\ndef register(ctx):\n    ctx.register_hook('on_session_start', lambda **told: heard.append(told['session_id']))",
    )
    plant("own", code)
    configure(environ, enabled=["own"])
    async with opened(environ) as runtime:
        assert await result(runtime) == [True, ["s"]]
