"""A provider of models that a plugin brings is chosen, keyed and listed like any other, and its methods have a
say in each request.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hermes.agent.spec import SessionOptions
from hermes.commands.model_choices import served_names
from hermes.models.catalog.catalogue import known_models, known_providers
from hermes.models.settings import ProviderSettings
from hermes.models.side_calls import SideQuestion
from hermes.runtime import Runtime, open_runtime
from hermes.testing import ScriptedModel, ScriptedServer, say
from hermes.types.error import ConfigError
from hermes.types.event import PrefixBroken, TurnFinished
from tests.scenarios.planted_plugins import Plant, configure, plant

__all__ = ["plant"]
pytestmark = pytest.mark.anyio

Serve = Callable[..., ScriptedServer]
KEY = "0wn-models-key-77f1"
HEAD = (
    "from providers import register_provider\nfrom providers.base import OMIT_TEMPERATURE, ProviderProfile\n"
)
PLAIN = """
register_provider(ProviderProfile(
    name="own-models", aliases=("ownm",), display_name="Own models", env_vars=("OWN_KEY", "OWN_BASE_URL"),
    base_url={url!r}, default_headers={{"x-team": "search"}}, fallback_models=("small", "large"),
    {more}
))
"""
SHAPING = """
class Own(ProviderProfile):
    def prepare_messages(self, messages):
        return [{**one, "name": one["role"]} for one in messages]
    def build_extra_body(self, *, session_id=None, **context):
        return {"tag": [session_id, context["model"]], "model": "stolen", "messages": []}
    def build_api_kwargs_extras(self, *, reasoning_config=None, **context):
        return {"think": reasoning_config}, {"top": 1}
    def get_max_tokens(self, model):
        return 77
    def fetch_models(self, *, api_key=None, base_url=None, timeout=8.0):
        return [f"{api_key}-of-{len(base_url) > 0}", "live"]
register_provider(Own("own-models", env_vars=("OWN_KEY",), base_url=%r))
"""


@pytest.fixture
def serve() -> Iterator[Serve]:
    """`serve(say("hello"))`: a server that speaks chat completions."""
    with ExitStack() as running:
        yield lambda *replies: running.enter_context(ScriptedServer(ScriptedModel(*replies)).running())


@asynccontextmanager
async def opened(environ: dict[str, str], **flags: Any) -> AsyncIterator[Runtime]:
    async with open_runtime(environ={"OWN_KEY": KEY, **environ}, flags=flags) as runtime:
        yield runtime


def provide(environ: dict[str, str], plant: Plant, code: str, **entry: Any) -> None:
    plant("own", HEAD + code, "name: own\nkind: model-provider\noptional_env: [OWN_KEY, OWN_BASE_URL]\n")
    configure(environ, enabled=["own"], entries={"own": entry})


async def turn(runtime: Runtime, cwd: Path, model: str = "own-models/small", **more: Any) -> TurnFinished:
    session = await runtime.session(SessionOptions(model=model, cwd=cwd, **more))
    end = await session.send("hello")
    await session.close()
    return end


async def test_a_provider_of_a_plugin_answers_by_its_name_and_by_its_alias_with_its_key(
    environ: dict[str, str], plant: Plant, serve: Serve, tmp_path: Path
) -> None:
    server = serve(say("one"))
    provide(environ, plant, PLAIN.format(url=server.base_url, more=""))
    async with opened(environ) as runtime:
        assert [(one.provides, one.faults) for one in runtime.plugins] == [
            (("model provider own-models",), ())
        ]
        assert (await turn(runtime, tmp_path, "ownm/large")).text == "one"
        endpoint = runtime.endpoint("ownm/large")
    assert [one["model"] for one in server.model.requests] == ["large"]
    assert (endpoint.full_name, endpoint.credential, dict(endpoint.headers)) == (
        "own-models/large",
        KEY,
        {"x-team": "search"},
    )


@pytest.mark.parametrize("isolated", [False, True])
async def test_files_that_register_when_they_are_imported_need_no_function_for_it(
    environ: dict[str, str], plant: Plant, isolated: bool
) -> None:
    plant("own", HEAD + "register_provider(ProviderProfile('mine', base_url='http://127.0.0.1:1/v1'))")
    plant("other", HEAD, "name: other\nkind: model-provider\n")
    configure(
        environ, enabled=["own", "other"], entries={key: {"isolated": isolated} for key in ("own", "other")}
    )
    async with opened(environ) as runtime:
        found = {one.found.key: (one.state, one.provides, "".join(one.faults)) for one in runtime.plugins}
    assert found["own"] == ("loaded", ("model provider mine",), "")
    assert found["other"][:2] == ("faulty", ())
    assert "it has no function register(ctx)" in found["other"][2]


async def test_without_its_key_the_provider_says_which_variable_it_wants(
    environ: dict[str, str], plant: Plant
) -> None:
    provide(environ, plant, PLAIN.format(url="http://127.0.0.1:1/v1", more=""))
    async with open_runtime(environ=environ) as runtime:
        with pytest.raises(ConfigError, match=r"No key for own-models: set OWN_KEY in the environment"):
            runtime.endpoint("own-models/small")


async def test_its_address_may_come_from_a_variable(environ: dict[str, str], plant: Plant) -> None:
    provide(environ, plant, PLAIN.format(url="http://127.0.0.1:1/v1", more=""))
    environ["OWN_BASE_URL"] = "http://127.0.0.1:2/v1"
    async with opened(environ) as runtime:
        assert runtime.endpoint("own-models/small").base_url == "http://127.0.0.1:2/v1"


@pytest.mark.parametrize(
    ("more", "sent"),
    [
        ("fixed_temperature=0.25", {"temperature": 0.25}),
        ("fixed_temperature=OMIT_TEMPERATURE", {}),
        ("default_max_tokens=500", {"temperature": 0.5, "max_tokens": 500}),
        ("", {"temperature": 0.5}),
    ],
)
async def test_its_fields_decide_what_requests_say(
    environ: dict[str, str], plant: Plant, serve: Serve, tmp_path: Path, more: str, sent: dict[str, Any]
) -> None:
    server = serve(say("one"))
    provide(environ, plant, PLAIN.format(url=server.base_url, more=more))
    async with opened(environ, **{"model.temperature": 0.5}) as runtime:
        await turn(runtime, tmp_path)
    (request,) = server.model.requests
    assert {name: request[name] for name in ("temperature", "max_tokens") if name in request} == sent


@pytest.mark.parametrize("isolated", [False, True])
async def test_methods_of_its_own_have_a_say_in_each_request_but_not_in_what_makes_it_this_one(
    environ: dict[str, str], plant: Plant, serve: Serve, tmp_path: Path, isolated: bool
) -> None:
    server = serve(say("one"))
    provide(environ, plant, SHAPING % server.base_url, isolated=isolated)
    async with opened(environ, **{"model.effort": "low"}) as runtime:
        session = await runtime.session(SessionOptions(model="own-models/small", cwd=tmp_path))
        assert (await session.send("hello")).text == "one"
        await session.close()
    (request,) = server.model.requests
    shown = {name: request[name] for name in ("model", "tag", "think", "top", "max_tokens")}
    assert shown == {
        "model": "small",
        "tag": [session.id, "small"],
        "think": {"enabled": True, "effort": "low"},
        "top": 1,
        "max_tokens": 77,
    }
    assert [one["name"] for one in request["messages"]] == ["system", "user"]


async def test_the_models_that_it_lists_are_asked_for_where_it_runs(
    environ: dict[str, str], plant: Plant
) -> None:
    for isolated in (False, True):
        if not isolated:
            provide(environ, plant, SHAPING % "http://127.0.0.1:1/v1")
        configure(environ, enabled=["own"], entries={"own": {"isolated": isolated}})
        async with opened(environ) as runtime:
            found = await served_names(runtime, runtime.endpoint("own-models/live"))
        assert found == (f"{KEY}-of-True", "live")


COUNTING = """
class Own(ProviderProfile):
    def prepare_messages(self, messages):
        return [{**messages[0], "content": f"{len(messages)} messages"}, *messages[1:]]
register_provider(Own("own-models", base_url=%r))
"""


async def test_messages_that_are_given_back_otherwise_than_before_are_told_as_a_broken_prefix(
    environ: dict[str, str], plant: Plant, serve: Serve, tmp_path: Path
) -> None:
    server = serve(say("one"), say("two", breaks_prefix=True))
    provide(environ, plant, COUNTING % server.base_url)
    async with opened(environ) as runtime:
        session = await runtime.session(SessionOptions(model="own-models/small", cwd=tmp_path))
        with session.watch() as listener:
            await session.send("hello")
            await session.send("again")
            await session.close()
            told = [event.reason async for event in listener if isinstance(event, PrefixBroken)]
    assert told == ["a plugin changed what the model had read"]


async def test_side_tasks_and_the_place_of_a_model_that_fails_may_be_its_models(
    environ: dict[str, str], plant: Plant, serve: Serve, tmp_path: Path
) -> None:
    server = serve(say("one"), say("two", breaks_prefix=True))
    provide(environ, plant, SHAPING % server.base_url)
    flags = {"fallback_providers": ["own-models/large"], "auxiliary.web_extract.model": "own-models/tiny"}
    async with opened(environ, **flags) as runtime:
        options = SessionOptions(model="m", base_url="http://127.0.0.1:1/v1", cwd=tmp_path)
        session = await runtime.session(options)
        end = await session.send("hello")
        aside = await session.ask_aside("web_extract", SideQuestion(instructions="Sum up.", text="long"))
        await session.close()
    assert (end.text, aside) == ("one", "two")
    assert [(one["top"], *one["tag"]) for one in server.model.requests] == [
        (1, session.id, "large"),
        (1, session.id, "tiny"),
    ]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise ValueError('no')", "prepare_messages: ValueError: no"),
        ("raise SystemExit", "prepare_messages: SystemExit"),
        ("return 7", "prepare_messages: ValidationError: Expected `array`, got `int`"),
        ("return None", "prepare_messages: ValidationError: Expected `array`, got `null`"),
        ("return [7]", "prepare_messages: ValidationError: Expected `object`, got `int`"),
        ("import time; time.sleep(2)", "prepare_messages: nothing came within 0.2 s"),
    ],
)
@pytest.mark.parametrize("isolated", [False, True])
async def test_a_method_that_fails_ends_the_request_unsent_and_is_named_with_its_plugin(
    environ: dict[str, str], plant: Plant, serve: Serve, tmp_path: Path, body: str, words: str, isolated: bool
) -> None:
    server = serve()
    code = f"class Own(ProviderProfile):\n    def prepare_messages(self, messages):\n        {body}\n"
    code += f"register_provider(Own('own-models', base_url={server.base_url!r}))\n"
    provide(environ, plant, code, isolated=isolated)
    async with opened(environ, **{"plugins.hook_timeout": 0.2}) as runtime:
        end = await turn(runtime, tmp_path)
    assert (end.outcome, server.model.requests) == ("failed", [])
    assert end.failure is not None
    assert (end.failure.reason, end.failure.address) == ("plugin_failed", "")
    method, _, what = words.partition(": ")
    assert f"The plugin own failed at its provider own-models: {method}: " in end.failure.message
    assert what in end.failure.message


async def test_the_next_model_answers_where_the_provider_s_plugin_fails(
    environ: dict[str, str], plant: Plant, serve: Serve, tmp_path: Path
) -> None:
    server = serve(say("from the other"))
    code = (
        "class Own(ProviderProfile):\n    def build_extra_body(self, **context):\n        raise ValueError\n"
    )
    code += f"register_provider(Own('own-models', base_url={server.base_url!r}))\n"
    provide(environ, plant, code)
    other = {"provider": "custom", "model": "m", "base_url": server.base_url}
    async with opened(environ, fallback_providers=[other]) as runtime:
        assert (await turn(runtime, tmp_path)).text == "from the other"


REFUSED = [
    ("name='openai', base_url='http://127.0.0.1:1/v1'", "openai of the provider of models openai belongs"),
    ("name='mine', aliases=('or',)", "or of the provider of models mine belongs to another"),
    ("name='mine', env_vars=('OPENAI_API_KEY',)", "OPENAI_API_KEY of the provider of models mine belongs"),
    ("name='local'", "local of the provider of models local belongs to another"),
    ("name='a/b'", "the provider of models 'a/b' or one of its aliases is no name"),
    ("name='mine', auth_type='oauth_external'", "'mine' has the auth_type 'oauth_external'; there are"),
    ("name='mine', api_mode='smoke'", "'mine' has the api_mode 'smoke'; there are chat_completions"),
    ("name='mine', base_url='http://e/${OPENAI_API_KEY}'", "which is no address"),
    (
        "name='mine', default_headers={'x-a': 'b\\r\\nx: y'}",
        "'mine' has the header 'x-a' in default_headers, whose",
    ),
    ("name='mine', default_headers={'x a': 'b'}", "'mine' has the header 'x a' in default_headers, whose"),
    (
        "name='mine', fallback_models=('m',) * 200_000",
        "'mine' has 200,000 fallback_models; 5,000 is the most",
    ),
    ("name='mine', base_url=7", "its provider of models: Expected `str`, got `int` - at `$.base_url`"),
]


@pytest.mark.parametrize(("fields", "words"), REFUSED)
async def test_a_provider_that_cannot_be_is_refused_alone(
    environ: dict[str, str], plant: Plant, fields: str, words: str
) -> None:
    provide(
        environ,
        plant,
        f"register_provider(ProviderProfile({fields}))\n" + PLAIN.format(url="http://x/v1", more=""),
    )
    async with opened(environ) as runtime:
        (one,) = runtime.plugins
        assert (one.state, one.provides) == ("loaded", ("model provider own-models",))
        (fault,) = one.faults
    assert words in fault


CLAIMS = [
    ("name='OpenAI'", "OpenAI of the provider of models OpenAI belongs to another;"),
    ("name='mine', aliases=('HOUSE',)", "HOUSE of the provider of models mine belongs to another;"),
    ("name='house'", "house of the provider of models house belongs to another;"),
    ("name='mine', env_vars=('HOUSE_KEY',)", "another (HOUSE_KEY is a key of the provider house);"),
    ("name='mine', env_vars=('TRACKER',)", "another (TRACKER is a part of config.yaml);"),
    ("name='mine', env_vars=('AWS_SECRET_ACCESS_KEY',)", "(AWS_SECRET_ACCESS_KEY is a credential of AWS);"),
    ("name='mine', env_vars=('HOME',)", "another (HOME is a variable that commands get);"),
    ("name='mine', env_vars=('BESIDE_KEY',)", "another (BESIDE_KEY is a variable of the plugin beside);"),
]


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize(("fields", "words"), CLAIMS)
async def test_names_and_variables_that_are_somebody_else_s_are_refused_to_a_plugin_s_provider(
    environ: dict[str, str], plant: Plant, fields: str, words: str, isolated: bool
) -> None:
    named = "HOUSE_KEY, TRACKER, AWS_SECRET_ACCESS_KEY, HOME, BESIDE_KEY"
    plant(
        "own",
        f"{HEAD}register_provider(ProviderProfile({fields}, base_url='http://127.0.0.1:1/v1'))",
        f"name: own\noptional_env: [{named}]\n",
    )
    plant("beside", "def register(ctx): pass", "name: beside\noptional_env: [BESIDE_KEY]\n")
    configure(environ, enabled=["own", "beside"], entries={"own": {"isolated": isolated}})
    with (Path(environ["HERMES_HOME"]) / "config.yaml").open("a") as file:
        file.write("\nproviders: {house: {base_url: 'http://127.0.0.1:2/v1', api_key_env: HOUSE_KEY}}\n")
        file.write("mcp_servers: {tracker: {command: 'false', enabled: false, env: {T: '${TRACKER}'}}}\n")
    async with opened(environ) as runtime:
        _, own = runtime.plugins
        (fault,) = own.faults
        assert (own.provides, words in fault) == ((), True), fault
    assert fault.endswith(
        "plugins.entries.own.allow_model_provider_override: true lets this plugin replace ours."
    )


async def test_with_the_user_s_leave_it_takes_the_place_of_one_of_ours(
    environ: dict[str, str], plant: Plant
) -> None:
    code = "register_provider(ProviderProfile('openai', env_vars=('OPENAI_API_KEY',), base_url='http://127.0.0.1:9/v1'))"
    provide(environ, plant, code, allow_model_provider_override=True)
    async with opened({**environ, "OPENAI_API_KEY": "k"}) as runtime:
        assert (runtime.plugins[0].faults, runtime.endpoint("openai/x").base_url) == (
            (),
            "http://127.0.0.1:9/v1",
        )


async def test_in_a_process_of_its_own_it_gets_no_key_that_its_manifest_does_not_name(
    environ: dict[str, str], plant: Plant
) -> None:
    code = "register_provider(ProviderProfile('mine', env_vars=('SHOP_TOKEN',), base_url='http://127.0.0.1:9/v1'))"
    provide(environ, plant, code, isolated=True)
    async with opened(environ) as runtime:
        (one,) = runtime.plugins
        assert (one.provides, one.faults) == (
            (),
            (
                "its provider of models mine wants SHOP_TOKEN, which its manifest does not name as a variable.",
            ),
        )


async def test_what_the_user_sets_of_it_wins_and_it_is_gone_with_its_runtime(
    environ: dict[str, str], plant: Plant
) -> None:
    provide(environ, plant, PLAIN.format(url="http://127.0.0.1:1/v1", more=""))
    own = {"own-models": {"base_url": "http://127.0.0.1:3/v1"}}
    async with opened(environ, providers=own) as runtime:
        assert runtime.endpoint("own-models/small").base_url == "http://127.0.0.1:3/v1"
        settings = runtime.settings
        assert [one for one in known_models(settings) if one.startswith("own-models/")] == [
            "own-models/small",
            "own-models/large",
        ]
    assert "own-models" not in known_providers(settings.replace(ProviderSettings()))


@pytest.mark.parametrize("target", ["ownpack", "ownpack:start"])
async def test_a_package_names_itself_as_a_provider_of_models(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    about = tmp_path / "ownpack-1.0.dist-info"
    about.mkdir()
    (tmp_path / "ownpack.py").write_text(
        HEAD
        + PLAIN.format(url="http://127.0.0.1:1/v1", more="")
        + "def start():\n    register_provider(ProviderProfile('second', base_url='http://127.0.0.1:1/v1'))\n"
    )
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: ownpack\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[hermes_agent.model_providers]\nownpack = {target}\n")
    monkeypatch.syspath_prepend(tmp_path)
    async with opened(environ) as runtime:
        assert runtime.plugins == ()
    configure(environ, enabled=["ownpack"])
    async with opened(environ) as runtime:
        assert (
            runtime.plugins[0].provides
            == ("model provider own-models", "model provider second")[: 1 + (":" in target)]
        )


async def test_plugins_find_profiles_by_name_and_alias(environ: dict[str, str], plant: Plant) -> None:
    code = PLAIN.format(url="http://127.0.0.1:1/v1", more="") + (
        "from providers import get_provider_profile, list_providers\n"
        "names = [one.name for one in list_providers()]\n"
        "assert {'own-models', 'openrouter'} <= set(names), names\n"
        "assert get_provider_profile('ownm').name == 'own-models'\n"
        "assert get_provider_profile('or').env_vars == ('OPENROUTER_API_KEY',)\n"
        "assert get_provider_profile('nothing') is None\n"
        "assert get_provider_profile('ownm').get_hostname() == '127.0.0.1'\n"
    )
    for isolated in (False, True):
        if not isolated:
            provide(environ, plant, code)
        configure(environ, enabled=["own"], entries={"own": {"isolated": isolated}})
        async with opened(environ) as runtime:
            assert [one.faults for one in runtime.plugins] == [()]


async def test_callbacks_of_requests_are_not_told_the_key_that_is_sent(
    environ: dict[str, str], plant: Plant, serve: Serve, tmp_path: Path
) -> None:
    server, told = serve(say("one")), []
    provide(environ, plant, PLAIN.format(url=server.base_url, more=""))
    async with opened(environ) as runtime:
        for point in ("llm_request", "llm_execution", "pre_api_request", "post_api_request"):
            runtime.hooks.register(point, lambda **one: told.append(one))
        await turn(runtime, tmp_path)
    assert [KEY in repr(one) for one in told] == [False] * 4
    assert len(server.model.requests) == 1
