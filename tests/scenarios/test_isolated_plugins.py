"""A plugin in a process of its own adds tools, hooks and providers, falls alone, and never outlives us."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from hermes.runtime import Runtime
from hermes.testing import call, say
from hermes.types.message import ToolResult
from tests.scenarios.planted_plugins import Plant, configure, opened, options, plant

__all__ = ["plant"]
pytestmark = pytest.mark.anyio

CODE = """
import json, os, signal, sys, time
from pathlib import Path

SCHEMA = {"parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}
SEEN = Path(__file__).parent / "seen"

def where(args, **keywords):
    print("noise")
    told = {"pid": os.getpid(), "args": args, "session": keywords["session_id"], "env": sorted(os.environ)}
    return json.dumps(told)

async def doubled(args, **keywords):
    return str(args["n"] * 2)

def falls(args, **keywords):
    os.kill(os.getpid(), signal.SIGKILL)

def raises(args, **keywords):
    raise ValueError("no")

def told(tool_name, result):
    with SEEN.open("a") as file:
        print(tool_name, file=file)

def blocks(args):
    return {"action": "block", "message": "not 13"} if args.get("n") == 13 else None

def register(ctx):
    for handler in (where, doubled, falls, raises):
        ctx.register_tool(handler.__name__, "own", {"name": handler.__name__, **SCHEMA}, handler,
                          is_async=handler is doubled, check_fn=lambda: True)
    ctx.register_hook("post_tool_call", told)
    ctx.register_hook("pre_tool_call", blocks)
"""


def isolate(environ: dict[str, str], **more: Any) -> None:
    configure(environ, enabled=["own"], entries={"own": {"isolated": True}}, **more)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def gone(pid: int) -> None:
    with anyio.fail_after(20):
        while is_alive(pid):  # noqa: ASYNC110  # nobody tells
            await anyio.sleep(0.02)


async def test_tools_and_hooks_run_in_the_process_of_the_plugin_which_ends_with_the_runtime(
    environ: dict[str, str], plant: Plant, tmp_path: Path
) -> None:
    folder = plant("own", CODE, "name: own\noptional_env: [OWN_KEY]\n")
    isolate(environ)
    environ |= {"OWN_KEY": "k", "SHOP_TOKEN": "s3cret-token-value"}
    replies = [
        call("where", {"n": "4"}),
        call("doubled", {"n": 4}),
        call("raises", {}),
        call("doubled", {"n": 13}),
        say("done"),
    ]
    async with opened(environ, *replies) as runtime:
        assert [(one.state, one.faults) for one in runtime.plugins] == [("loaded", ())]
        assert runtime.plugins[0].provides == (
            *(f"tool {name}" for name in ("doubled", "falls", "raises", "where")),
            "hook post_tool_call",
            "hook pre_tool_call",
        )
        session = await runtime.session(options(tmp_path))
        await session.send("go")
        await session.close()
    where, *rest = [one.content for one in session.log if isinstance(one, ToolResult)]
    found = json.loads(where)
    assert (found["args"], found["session"], found["pid"] != os.getpid()) == ({"n": 4}, session.id, True)
    assert {"OWN_KEY", "SHOP_TOKEN"} & set(found["env"]) == {"OWN_KEY"}
    assert rest == ["8", '{"error": "The plugin own failed: ValueError: no."}', '{"error": "not 13"}']
    assert (folder / "seen").read_text().split() == ["where", "doubled", "raises"]
    await gone(found["pid"])


async def test_a_process_that_is_killed_fails_its_call_and_the_next_call_has_a_new_one(
    environ: dict[str, str], plant: Plant, tmp_path: Path
) -> None:
    plant("own", CODE)
    isolate(environ)
    replies = [call("where", {}), call("falls", {}), call("where", {}), say("done")]
    async with opened(environ, *replies) as runtime:
        session = await runtime.session(options(tmp_path))
        end = await session.send("go")
        await session.close()
    first, fault, last = [json.loads(one.content) for one in session.log if isinstance(one, ToolResult)]
    assert fault == {"error": "The plugin own ended in its process, before it had answered."}
    assert (end.outcome, first["pid"] != last["pid"]) == ("done", True)
    await gone(last["pid"])


NO_LLM = (
    "The plugin own failed: AttributeError: a plugin in a process of its own adds tools, hooks and providers of"
    " models only, and has no llm."
)
AROUND = "def register(ctx):\n    ctx.register_hook('tool_execution', lambda next_call: next_call())"
STANDS = "the hook tool_execution was refused: tool_execution stands around a call, which happens in another process."
COMMAND = "def register(ctx):\n    ctx.register_command('x', print)\n    ctx.register_skill(name='s', path=1)"
ONLY = "was refused: in a process of its own it adds tools, hooks and providers of models only."


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("raise SystemExit(3)", "The plugin own failed: SystemExit: 3."),
        ("import os; os._exit(3)", "The plugin own ended while it was loaded."),
        ("def register(ctx): ctx.llm", NO_LLM),
        ("import time; time.sleep(60)", "it was not loaded within 3 seconds."),
    ],
)
async def test_an_isolated_plugin_that_cannot_be_loaded_is_named(
    environ: dict[str, str], plant: Plant, code: str, fault: str
) -> None:
    plant("own", code)
    isolate(environ, load_timeout=3 if "sleep" in code else 20)
    async with opened(environ) as runtime:
        assert [(one.state, one.faults) for one in runtime.plugins] == [("faulty", (fault,))]


async def test_what_an_isolated_plugin_cannot_add_is_refused_by_name_and_the_rest_is_loaded(
    environ: dict[str, str], plant: Plant
) -> None:
    plant("own", f"{COMMAND}\n    ctx.register_hook('post_tool_call', lambda **told: None)")
    isolate(environ)
    async with opened(environ) as runtime:
        (own,) = runtime.plugins
    refused = (f"register_command x {ONLY}", f"register_skill s {ONLY}")
    assert (own.state, own.faults) == ("loaded", refused)


async def test_a_hook_around_calls_of_an_isolated_plugin_is_refused(
    environ: dict[str, str], plant: Plant
) -> None:
    plant("own", AROUND)
    isolate(environ)
    async with opened(environ) as runtime:
        assert [(one.state, one.faults) for one in runtime.plugins] == [("loaded", (STANDS,))]


LEAVES = CODE.replace(
    "def raises(",
    """
def leaves(args, **keywords):
    file = SEEN.with_name("left")
    if not os.fork():
        os.setsid()
        if not os.fork():
            os.setsid()
            file.write_text(str(os.getpid()))
            os.closerange(0, 100)
            time.sleep(600)
        os._exit(0)
    os.wait()
    while not file.exists() or not file.read_text():
        time.sleep(0.01)
    return json.dumps({"pid": os.getpid(), "left": int(file.read_text())})

def raises(""",
).replace("(where,", "(where, leaves,")


FORGETS = LEAVES.replace("time.sleep(600)", 'os.execve("/bin/sleep", ["sleep", "600"], {})')
leaving = pytest.mark.parametrize("code", [LEAVES, FORGETS], ids=["marked", "with an empty environment"])


async def left_by(runtime: Runtime) -> dict[str, int]:
    """Have the plugin leave a process behind: its own number, and that of what it left."""
    leave = runtime.registry.dispatch
    told: dict[str, int] = json.loads(
        await anyio.to_thread.run_sync(lambda: leave("leaves", {}, session_id="s"))
    )
    return told


@leaving
async def test_what_has_left_the_session_of_a_plugin_ends_with_the_runtime(
    environ: dict[str, str], plant: Plant, code: str
) -> None:
    plant("own", code)
    isolate(environ)
    async with opened(environ) as runtime:
        told = await left_by(runtime)
        assert is_alive(told["left"])
    await gone(told["left"])


@leaving
async def test_what_has_left_the_session_of_a_plugin_ends_with_its_process(
    environ: dict[str, str], plant: Plant, code: str
) -> None:
    plant("own", code)
    isolate(environ)
    async with opened(environ) as runtime:
        told = await left_by(runtime)
        os.kill(told["pid"], signal.SIGKILL)
        await gone(told["left"])


@leaving
async def test_what_has_left_the_session_of_a_plugin_ends_when_ours_is_killed(
    environ: dict[str, str], plant: Plant, code: str
) -> None:
    plant("own", code)
    isolate(environ)
    program = PROGRAM.replace("where", "leaves").replace('["pid"]', '["left"]')
    with subprocess.Popen(
        [sys.executable, "-c", program, json.dumps(environ)], stdout=subprocess.PIPE, text=True
    ) as ours:
        assert ours.stdout is not None
        left = int(ours.stdout.readline())
        assert is_alive(left)
        os.kill(ours.pid, signal.SIGKILL)
        await gone(left)


PROGRAM = """
import anyio, json, os, sys
from hermes.runtime import open_runtime

async def main():
    async with open_runtime(environ=json.loads(sys.argv[1])) as runtime:
        told = await anyio.to_thread.run_sync(lambda: runtime.registry.dispatch("where", {}, session_id="s"))
        print(json.loads(told)["pid"], flush=True)
        await anyio.sleep(3600)

anyio.run(main)
"""


async def test_the_process_of_a_plugin_ends_when_ours_is_killed(
    environ: dict[str, str], plant: Plant
) -> None:
    plant("own", CODE)
    isolate(environ)
    words = [sys.executable, "-c", PROGRAM, json.dumps(environ)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as ours:
        assert ours.stdout is not None
        pid = int(ours.stdout.readline())
        assert is_alive(pid)
        os.kill(ours.pid, signal.SIGKILL)
        await gone(pid)
