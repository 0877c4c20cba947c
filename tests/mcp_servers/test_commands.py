"""The slash commands on servers, as a person at any app meets them."""

from collections.abc import Callable
from typing import Any

import pytest

from hermes.runtime import Runtime
from tests.scenarios.test_file_commands import Person

from .conftest import Opened

pytestmark = pytest.mark.anyio
Hostile = Callable[..., dict[str, Any]]


class Screen(Person):
    """Somebody at an app that has no session yet."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(None)  # type: ignore[arg-type]  # none is needed
        self.runtime, self.notice = runtime, self.told.append


async def test_servers_are_told_with_how_they_stand(opened: Opened, hostile: Hostile) -> None:
    servers = {
        "good": hostile("has prompts"),
        "bad": hostile("dies at once"),
        "later": hostile("is good"),
        "off": hostile("is good", enabled=False),
        "a__b": hostile("is good"),
    }
    async with opened(servers) as runtime:
        await runtime.mcp.connect("good")
        with pytest.raises(Exception, match="no licence"):
            await runtime.mcp.connect("bad")
        assert (await Screen(runtime).types("/mcp")).splitlines() == [
            "- **bad**: faulty: Connection closed (it said: no licence)",
            "- **good**: connected · 1 tool, resources, prompts",
            "- **later**: waiting until one of its tools is called",
            "- **a\\_\\_b**: faulty: a name is letters, digits, _ and -, 40 at most",
            "- **off**: off; `hermes mcp allow off --enable` has it used",
        ]


async def test_one_server_is_told_whole(opened: Opened, hostile: Hostile) -> None:
    async with opened({"good": hostile("has prompts")}) as runtime:
        await runtime.mcp.connect("good")
        told = (await Screen(runtime).types("/mcp good")).splitlines()
        assert told[0] == "**good**: connected · 1 tool, resources, prompts"
        assert told[3:] == [
            "- network: none, trust: full",
            "- tool `echo`: Give the text back.",
            "- prompt `greet who [how]`: Greets \\*somebody\\*.",
            "- prompt `plain`: ",
            "- resource `note:///one`",
        ]


async def test_a_server_that_fails_says_why_and_an_unknown_one_is_named(
    opened: Opened, hostile: Hostile
) -> None:
    async with opened({"bad": hostile("dies at once")}) as runtime:
        screen = Screen(runtime)
        assert (await screen.types("/mcp bad")).splitlines()[-1] == (
            "- The MCP server bad cannot be used: Connection closed (it said: no licence)."
        )
        assert await screen.types("/mcp nobody") == (
            "error: There is no MCP server 'nobody'; hermes mcp list shows those that are there."
        )
