"""The client that the conformance suite runs: our connection to the address that is its last argument.

Its person agrees to everything: an address to open is fetched as a browser would, a form gets its defaults.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
from msgspec import convert

from hermes.composition import SYSTEM_PORTS
from hermes.lib.aio import background
from hermes.lib.secretvalues import SecretValues
from hermes.mcp.assembly import sign_in
from hermes.mcp.calls import McpCalls
from hermes.mcp.connection import ConnectionOptions, McpConnection
from hermes.mcp.http import http_streams
from hermes.mcp.login import signing_in
from hermes.mcp.requests import CallRequests
from hermes.mcp.servers import McpHome
from hermes.mcp.settings import McpServer
from hermes.types.error import McpError
from hermes.types.question import Clarify, Question, Reply

ARGUMENTS: Mapping[str, dict[str, Any]] = {"add_numbers": {"a": 5, "b": 3}}


class Agreeing:
    """A session whose person takes every default, as far as calls ask one."""

    session_id = "conformance"

    async def ask(self, question: Question) -> Reply:
        options = question.options if isinstance(question, Clarify) else ()
        return Reply(text=next((one for one in options if one.startswith("Leave it at")), "Yes"))

    def progress(self, text: str) -> None:
        sys.stderr.write(text)


def settings(scenario: str, context: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """What a user would set for a scenario."""
    oauth: dict[str, Any] = {key: context[key] for key in ("client_id", "client_secret") if key in context}
    if scenario == "auth/basic-cimd":
        oauth["client_metadata_url"] = "https://conformance-test.local/client-metadata.json"
    if scenario.startswith("auth/client-credentials"):
        oauth["grant"] = "client_credentials"
    if "valid_jwt" in context:
        (folder / "assertion").write_text(context["valid_jwt"])
        oauth |= {"grant": "workload_identity", "assertion_file": str(folder / "assertion")}
    if "idp_id_token" in context:
        oauth |= {"grant": "identity_assertion", "issuer": context["issuer"]}
        oauth["identity"] = {
            "token_endpoint": context["idp_token_endpoint"],
            "client_id": context["idp_client_id"],
            "id_token": context["idp_id_token"],
        }
    if "private_key_pem" in context:
        key = folder / "key.pem"
        key.write_text(context["private_key_pem"])
        oauth |= {"private_key": str(key), "algorithm": context.get("signing_algorithm", "ES256")}
    return {"auth": "oauth", "oauth": oauth} if scenario.startswith("auth/") else {}


async def issuer_of(url: str) -> str:
    """Who gives tokens for a server, as it says itself."""
    parts = urlsplit(url)
    async with httpx2.AsyncClient() as client:
        found = await client.get(
            f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{parts.path}"
        )
    return str(found.json()["authorization_servers"][0])


async def visit(url: str) -> None:
    async with httpx2.AsyncClient(follow_redirects=True) as browser:
        await browser.get(url)


def wanted_calls(tools: Sequence[Any], context: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The calls that a scenario asks for, or one of each tool; a tool that echoes a schema gets the other's."""
    if "toolCalls" in context:
        yield from ((one["name"], one["arguments"]) for one in context["toolCalls"])
        return
    schemas = {tool.name: tool.schema for tool in tools}
    for name in schemas:
        if name == "json_schema_echo":
            yield name, {"schema": next(schema for other, schema in schemas.items() if other != name)}
        else:
            yield name, ARGUMENTS.get(name, {})


async def main(url: str, folder: Path) -> None:
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    if "idp_id_token" in context:  # a user's company says where tokens are given; the suite does not
        context["issuer"] = await issuer_of(url)
    server = convert({"url": url, **settings(scenario, context, folder)}, McpServer)
    async with background() as start, AsyncExitStack() as opened:
        home = McpHome(
            folder=folder,
            results=folder,
            hermes_home=folder,
            config_file=folder / "config.yaml",
            user_home=folder,
            environ=os.environ,
            ports=SYSTEM_PORTS,
            known=SecretValues(),
            redact=str,
            spawn=start,
            configured=dict,
        )
        auth: Any = None
        if server.oauth.grant != "authorization_code":
            auth = sign_in("tested", server, home)
        elif server.auth == "oauth":

            async def soon(url: str) -> None:
                start(lambda: visit(url))

            auth = await opened.enter_async_context(signing_in("tested", server, home, soon))
        requests = CallRequests("tested", server, SYSTEM_PORTS.monotonic)
        offers: list[Any] = []
        connection = McpConnection(
            ConnectionOptions(
                name="tested",
                server=server,
                ports=SYSTEM_PORTS,
                open=lambda traffic: http_streams(server, os.environ, auth, traffic),
                spawn=start,
                listed=offers.append,
                requests=requests.handlers(),
            )
        )
        await connection.client()
        calls = McpCalls(
            name="tested", server=server, connection=connection, requests=requests, results=lambda: folder
        )
        person: Any = Agreeing()
        for name, arguments in wanted_calls(offers[-1].tools, context):
            try:
                said = await calls.call_tool(name, arguments, person)
            except McpError as error:
                said = str(error)
            sys.stderr.write(f"{name}: {said}\n")
        connection.close()
        await anyio.sleep(0.1)


if __name__ == "__main__":
    with TemporaryDirectory() as made:
        anyio.run(main, sys.argv[-1], Path(made))
