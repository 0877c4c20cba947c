"""The reference servers, over each of the three ways: their tools, resources and prompts, as a session has them."""

import base64
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hermes.runtime import Runtime

from .conftest import Opened, call
from .reference import CONFORMANCE, EVERYTHING, FILESYSTEM, NEW_NODE, everything, node

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["stdio", "streamableHttp", "sse"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@asynccontextmanager
async def connected(opened: Opened, way: str) -> AsyncIterator[Runtime]:
    if way == "stdio":
        async with opened(
            {"all": {"command": node(), "args": [str(EVERYTHING), "stdio"], "trust": "full"}}
        ) as runtime:
            await runtime.mcp.connect("all")
            yield runtime
        return
    with everything(way) as address:
        server = {"url": address, "transport": "sse" if way == "sse" else "http", "trust": "full"}
        async with opened({"all": server}) as runtime:
            await runtime.mcp.connect("all")
            yield runtime


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # on trio the libraries leave generators of streams open
async def test_tools_resources_and_prompts_come_over_each_way(opened: Opened, way: str) -> None:
    async with connected(opened, way) as runtime:
        assert await call(runtime, "mcp__all__echo", message="hi") == {"result": "Echo: hi"}
        assert await call(runtime, "mcp__all__get-sum", a=1, b=2) == {"result": "The sum of 1 and 2 is 3."}
        weather = await call(runtime, "mcp__all__get-structured-content", location="New York")
        assert weather == {"structured": {"temperature": 33, "conditions": "Cloudy", "humidity": 82}}
        listed = await call(runtime, "mcp__all__list_resources")
        uri = listed["resources"][0]["uri"]
        read = await call(runtime, "mcp__all__read_resource", uri=uri)
        assert [one["uri"] for one in read["contents"]] == [uri]
        assert read["contents"][0]["text"]
        prompts = await call(runtime, "mcp__all__list_prompts")
        assert {
            "name": "simple-prompt",
            "description": "A prompt with no arguments",
            "arguments": [],
        } in prompts["prompts"]
        assert await call(runtime, "mcp__all__get_prompt", name="simple-prompt") == {
            "description": "",
            "messages": [{"role": "user", "text": "This is a simple prompt without arguments."}],
        }


async def test_a_picture_becomes_a_file(opened: Opened) -> None:
    async with connected(opened, "stdio") as runtime:
        found = await call(runtime, "mcp__all__get-tiny-image")
        path = Path(found["result"].partition("[image/png: ")[2].partition("]")[0])
        assert path.read_bytes().startswith(base64.b64decode("iVBORw0KGgo="))
        assert path.parent == runtime.home.results


async def test_an_error_of_a_tool_is_an_error_of_the_call(opened: Opened) -> None:
    async with connected(opened, "stdio") as runtime:
        found = await call(runtime, "mcp__all__get-resource-reference", resourceType="Text", resourceId=-1)
        assert found.keys() == {"error"}


async def test_files_are_written_where_that_was_granted_and_a_refusal_says_what_helps(
    opened: Opened, tmp_path: Path
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    server: dict[str, Any] = {"command": node(), "args": [str(FILESYSTEM), str(docs)], "trust": "full"}
    both = {"shut": server, "open": {**server, "sandbox": {"paths": [str(docs)]}}}
    async with opened(both) as runtime:
        for name in both:
            await runtime.mcp.connect(name)
        place = str(docs / "a.txt")
        refused = await call(runtime, "mcp__shut__write_file", path=place, content="x")
        assert refused["error"].endswith(
            "(Its sandbox lets it write nowhere but in its own folder; hermes mcp allow shut --write FOLDER changes that.)"
        )
        await call(runtime, "mcp__open__write_file", path=place, content="x")
        assert (docs / "a.txt").read_text() == "x"
        assert (await call(runtime, "mcp__shut__read_text_file", path=place))["structured"] == {
            "content": "x"
        }


SCENARIOS = """
initialize tools_call elicitation-sep1034-client-defaults sse-retry request-metadata auth/metadata-default auth/metadata-var1
auth/metadata-var2 auth/metadata-var3 auth/basic-cimd auth/scope-from-www-authenticate auth/scope-from-scopes-supported
auth/scope-omitted-when-undefined auth/scope-step-up auth/scope-retry-limit auth/token-endpoint-auth-basic auth/token-endpoint-auth-post
auth/token-endpoint-auth-none auth/pre-registration auth/2025-03-26-oauth-metadata-backcompat auth/2025-03-26-oauth-endpoint-fallback
auth/resource-mismatch auth/offline-access-scope auth/offline-access-not-supported auth/authorization-server-migration auth/iss-supported
auth/iss-not-advertised auth/iss-supported-missing auth/iss-wrong-issuer auth/iss-unexpected auth/iss-normalized
auth/metadata-issuer-mismatch auth/client-credentials-jwt auth/client-credentials-basic auth/enterprise-managed-authorization auth/dpop
auth/dpop-nonce auth/wif-jwt-bearer sep-2322-client-request-state http-standard-headers http-custom-headers http-invalid-tool-headers
json-schema-ref-no-deref json-schema-2020-12-preservation sep-2640-client-no-prefetch sep-2640-client-verify-digest
sep-2640-client-verify-size sep-2640-client-verify-frontmatter
""".split()  # noqa: SIM905


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_conformance_suite_finds_nothing(scenario: str, tmp_path: Path) -> None:
    client = f"{sys.executable} -m tests.mcp_servers.conformance_client"
    command = [str(NEW_NODE), str(CONFORMANCE), "client", "--command", client, "--scenario", scenario]
    top = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": f"{top}:{top / 'src'}", "HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=top, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_scenario_of_the_suite_is_tried() -> None:
    listed = subprocess.run(
        [str(NEW_NODE), str(CONFORMANCE), "list", "--client"], capture_output=True, text=True, check=True
    )
    names = {line.split()[1] for line in listed.stdout.splitlines() if line.startswith("  - ")}
    assert names == set(SCENARIOS)
