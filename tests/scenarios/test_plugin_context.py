"""What a plugin adds by its context is there while its runtime is, for whoever asks for that kind."""

from pathlib import Path
from typing import Any

import pytest

from hermes.commands.run import run_command
from hermes.testing import call, say
from hermes.tools.registry import tool_result
from hermes.types.message import ToolResult
from tests.scenarios.planted_plugins import Plant, configure, opened, options, plant

__all__ = ["plant"]
pytestmark = pytest.mark.anyio

PROVIDERS = [
    "image_gen_provider",
    "video_gen_provider",
    "web_search_provider",
    "browser_provider",
    "tts_provider",
    "transcription_provider",
    "secret_source",
    "dashboard_auth_provider",
]
SCHEMA = {"name": "probe", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}


@pytest.mark.parametrize("kind", PROVIDERS)
async def test_a_provider_is_kept_by_kind_and_name_for_who_asks_for_it(
    environ: dict[str, str], plant: Plant, kind: str
) -> None:
    plant("own", f"class P:\n    name = 'mine'\ndef register(ctx):\n    ctx.register_{kind}(P())")
    configure(environ, enabled=["own"])
    async with opened(environ) as runtime:
        extensions = runtime.services.extensions
        assert [(one.name, one.plugin) for one in extensions.of_kind(kind)] == [("mine", "own")]
        assert runtime.plugins[0].provides == (f"{kind.replace('_', ' ')} mine",)
    assert extensions.of_kind(kind) == []


@pytest.mark.parametrize(
    ("line", "kind", "name", "value"),
    [
        (
            "ctx.register_platform('irc', 'IRC', str, bool, required_env=['IRC'])",
            "platform",
            "irc",
            {"label": "IRC", "adapter_factory": str, "check_fn": bool, "required_env": ["IRC"]},
        ),
        ("ctx.register_slack_action_handler('ok', str)", "slack_action_handler", "ok", str),
    ],
)
async def test_what_nothing_asks_for_yet_is_kept_as_it_came(
    environ: dict[str, str], plant: Plant, line: str, kind: str, name: str, value: Any
) -> None:
    plant("own", f"def register(ctx):\n    {line}")
    configure(environ, enabled=["own"])
    async with opened(environ) as runtime:
        kept = runtime.services.extensions.of_kind(kind)
        assert [(one.name, one.value) for one in kept] == [(name, value)]


async def test_a_skill_of_a_plugin_is_called_by_the_names_of_both(
    environ: dict[str, str], plant: Plant, tmp_path: Path
) -> None:
    folder = plant(
        "own",
        "from pathlib import Path\ndef register(ctx):\n"
        "    ctx.register_skill('greet', Path(__file__).parent / 'greet' / 'SKILL.md', 'Greets')",
    )
    (folder / "greet").mkdir()
    (folder / "greet" / "SKILL.md").write_text("---\nname: x\ndescription: y\n---\nBow.\n")
    configure(environ, enabled=["own"])
    replies = call("skill_view", {"name": "own:greet"}), say("done")
    async with opened(environ, *replies) as runtime:
        session = await runtime.session(options(tmp_path, toolsets=("skills",)))
        await session.send("look")
        (found,) = [one.content for one in session.log if isinstance(one, ToolResult)]
        await session.close()
    told = {"name": "own:greet", "description": "Greets", "content": "Bow.", "folder": str(folder / "greet")}
    assert found == tool_result({"success": True, **told})


async def test_the_profile_and_other_tools_are_at_hand_and_a_machine_is_not(
    environ: dict[str, str], plant: Plant
) -> None:
    plant(
        "own",
        f"SCHEMA = {SCHEMA}\ndef register(ctx):\n"
        "    ctx.register_tool('probe', 'own', SCHEMA, lambda args, **_: str(args['n'] + 1))\n"
        "    ctx.register_command('probe', lambda words: ctx.profile_name + ctx.dispatch_tool('probe', {'n': '4'}))\n"
        "    ctx.register_command('run', lambda words: ctx.dispatch_tool('terminal', {'command': words}))\n",
    )
    configure(environ, enabled=["own"])
    async with opened(environ) as runtime:
        commands = runtime.services.extensions.commands
        assert commands["probe"].handler("") == "default5"
        assert '"error"' in commands["run"].handler("touch x")


async def test_a_message_is_injected_only_where_somebody_sits_at_a_screen(
    environ: dict[str, str], plant: Plant
) -> None:
    plant("own", "def register(ctx):\n    ctx.register_command('say', ctx.inject_message)")
    configure(environ, enabled=["own"])
    heard: list[str] = []
    async with opened(environ) as runtime:
        say_ = runtime.services.extensions.commands["say"].handler
        assert say_("hello") is False
        runtime.services.extensions.inboxes.append(heard.append)
        assert (say_("hello"), heard) == (True, ["hello"])


async def test_middleware_changes_arguments_and_stands_around_a_call_which_runs_once(
    environ: dict[str, str], plant: Plant, tmp_path: Path
) -> None:
    plant(
        "own",
        f"SCHEMA = {SCHEMA}\nran = []\n"
        "def probe(args, **_):\n    ran.append(args['n']); return str(len(ran) * 100 + args['n'])\n"
        "def more(args):\n    return {'n': args['n'] + 1}\n"
        "def around(next_call, args):\n    return next_call({'n': args['n'] * 2}) + next_call()\n"
        "async def fails(next_call):\n    await next_call()\n    raise ValueError\n"
        "def register(ctx):\n"
        "    ctx.register_tool('probe', 'own', SCHEMA, probe)\n"
        "    ctx.register_middleware('tool_request', more)\n"
        "    ctx.register_middleware('tool_execution', around)\n"
        "    ctx.register_middleware('tool_execution', fails)\n",
    )
    configure(environ, enabled=["own"])
    async with opened(environ, call("probe", {"n": 1}), say("done")) as runtime:
        session = await runtime.session(options(tmp_path))
        await session.send("go")
        (found,) = [one.content for one in session.log if isinstance(one, ToolResult)]
        await session.close()
    assert found == "104104"


class Told:
    """A person who notes what is shown."""

    def __init__(self, session: Any, runtime: Any) -> None:
        self.seen: list[str] = []
        self._session, self.runtime = session, runtime

    @property
    def session(self) -> Any:
        """The session."""
        return self._session

    def tell(self, text: str) -> None:
        """Note it."""
        self.seen.append(text)

    def warn(self, sentence: str) -> None:
        """Note it."""
        self.seen.append(f"! {sentence}")


async def test_a_slash_command_of_a_plugin_is_run_shown_in_help_and_its_fault_is_one_sentence(
    environ: dict[str, str], plant: Plant, tmp_path: Path
) -> None:
    plant(
        "own",
        "async def toss(words):\n    return f'tossed {words}'\n"
        "def register(ctx):\n"
        "    ctx.register_command('/toss', toss, 'Toss a coin', '[times]')\n"
        "    ctx.register_command('fall', lambda words: 1 / 0)\n"
        "    ctx.register_command('interrupt', stop)\n"
        "    ctx.register_command('help', lambda words: 'mine')\n"
        "def stop(words):\n    raise KeyboardInterrupt\n",
    )
    configure(environ, enabled=["own"])
    async with opened(environ) as runtime:
        session = await runtime.session(options(tmp_path))
        person: Any = Told(session, runtime)
        for text in ("/toss  twice ", "/fall", "/interrupt", "/fal", "/help"):
            await run_command(text, person)
        await session.close()
    assert person.seen[:4] == [
        "tossed twice",
        "! /fall of the plugin own failed: ZeroDivisionError: division by zero.",
        "! /interrupt of the plugin own failed: KeyboardInterrupt.",
        "! There is no command /fal. Did you mean /fall?",
    ]
    assert "- `/toss [times]`: Toss a coin (own)" in person.seen[4]


OWN = """
class Whole:
    name = "whole"
    def messages(self, log): return log.messages
    def is_full(self, wanted): return False
    async def make_room(self, wanted, *, overflow=None, focus=None): return None

class Facts:
    name = "facts"
    def tools(self): return ()
    def system_prompt_block(self): return "I know your cat."
    def session_started(self, scope): pass
    def prefetch(self, query, scope): return ()
    def call(self, tool, arguments, scope): raise KeyError(tool)
    def session_ended(self, scope): pass
    def close(self): pass

def register(ctx):
    ctx.register_context_engine(Whole())
    ctx.register_memory_provider(Facts())
"""


async def test_settings_may_choose_the_context_manager_and_the_memory_of_a_plugin(
    environ: dict[str, str], plant: Plant, tmp_path: Path
) -> None:
    plant("own", OWN)
    configure(environ, enabled=["own"])
    with (Path(environ["HERMES_HOME"]) / "config.yaml").open("a") as file:
        file.write("\ncontext: {engine: whole}\nmemory: {provider: facts}\n")
    async with opened(environ, say("hello")) as runtime:
        session = await runtime.session(options(tmp_path))
        await session.send("hi")
        system = session.system
        await session.close()
        assert (type(runtime.services.context).__name__, "I know your cat." in system) == ("Whole", True)
        assert runtime.plugins[0].provides == ("context engine whole", "memory provider facts")
    assert runtime.services.recall.providers.has("facts") is False
