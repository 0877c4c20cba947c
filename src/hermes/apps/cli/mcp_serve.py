"""`hermes mcp serve`: sessions and tools of Hermes for other agents, over MCP."""

import secrets
import socket
from contextlib import AsyncExitStack

import anyio
import click
from msgspec.structs import replace

from hermes.apps.cli.choices import Choices, session_options
from hermes.apps.cli.cli_context import home_with_skills
from hermes.apps.cli.lock import refuse_drift
from hermes.apps.serve.http import HOST, PATH, bound, serve_http
from hermes.apps.serve.mcp_server import mcp_server, required
from hermes.apps.serve.offer import ToolOffer
from hermes.apps.serve.session_tools import SOURCE, SessionTools
from hermes.apps.serve.stdio import serve_stdio
from hermes.apps.serve.toolset_tools import ToolsetTools
from hermes.runtime import Runtime, open_runtime
from hermes.types.actor import Actor
from hermes.types.error import ConfigError

TOKEN = "HERMES_MCP_TOKEN"  # noqa: S105  # the name of a variable


@click.command()
@click.option(
    "--http",
    "port",
    type=click.IntRange(0, 65535),
    default=None,
    metavar="PORT",
    help="Serve on this port of 127.0.0.1 (0: any free one) in place of the standard streams.",
)
@click.option(
    "--toolsets",
    "toolsets",
    default="",
    metavar="NAMES",
    help="Offer the tools of these toolsets too, with commas. What needs a yes is refused.",
)
@click.option("--name", default="hermes", metavar="NAME", help="How the server calls itself (hermes).")
@click.pass_obj
def serve(choices: Choices, port: int | None, toolsets: str, name: str) -> None:
    """Let other agents use Hermes: look at its sessions, begin one, send it messages, answer its questions.

    Over HTTP a client needs the bearer token, which is told on stderr, or that of HERMES_MCP_TOKEN.
    """
    named = tuple(one.strip() for one in toolsets.split(",") if one.strip())
    required("mcp.server.lowlevel")
    if choices.locked:
        refuse_drift(choices)
    anyio.run(_serve, choices, port, named, name)


async def _serve(choices: Choices, port: int | None, toolsets: tuple[str, ...], name: str) -> None:
    home_with_skills(choices)
    async with (
        open_runtime(profile=choices.profile, flags=choices.flags) as runtime,
        AsyncExitStack() as stack,
    ):
        server = mcp_server(name, await _offers(choices, runtime, stack, toolsets, name))
        if port is None:
            await serve_stdio(server)
            return
        listening = stack.enter_context(_listening(port))
        own = runtime.environ.get(TOKEN, "")
        token = own or secrets.token_urlsafe(32)
        click.echo(f"hermes: http://{HOST}:{listening.getsockname()[1]}{PATH}", err=True)
        if not own:
            click.echo(f"hermes: bearer token: {token}", err=True)
        await serve_http(server, listening, token)


async def _offers(
    choices: Choices, runtime: Runtime, stack: AsyncExitStack, toolsets: tuple[str, ...], name: str
) -> list[ToolOffer]:
    """What clients may call: sessions, and the tools of a session where toolsets were named."""
    options = replace(session_options(choices, attended=True), resume="", yolo=False, source=SOURCE)
    offers: list[ToolOffer] = [SessionTools(runtime, options, Actor(app=SOURCE, id=name))]
    if toolsets:
        session = await runtime.session(replace(options, toolsets=toolsets, attended=False))
        stack.push_async_callback(session.close)
        offers.append(ToolsetTools(session))
    return offers


def _listening(port: int) -> socket.socket:
    try:
        return bound(port)
    except OSError as error:
        raise ConfigError(f"Port {port} of {HOST} cannot be had: {error.strerror}.") from error
