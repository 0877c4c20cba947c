"""MCP servers as the words of a command line, and as they are written in the settings."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from hermes.config.edit import is_secret
from hermes.lib.lazy import import_object
from hermes.lib.secretnames import is_secret_name
from hermes.mcp.settings import McpFilter, McpSandbox, McpServer
from hermes.types.error import ConfigError


def described(where: Sequence[str], given: Mapping[str, Any]) -> McpServer:
    """The server that the words describe; ConfigError says what is wrong with them."""
    first, *rest = where
    is_address = "://" in first
    if is_address and (rest or given["env"] or given["write"] or given["hosts"]):
        raise ConfigError("An address takes no arguments, variables, folders or hosts.")
    if not is_address and (given["header"] or given["oauth"] or given["transport"]):
        raise ConfigError(f"{first[:60]!r} is a program: headers, sign-ins and transports are for addresses.")
    if is_address:
        import_object("hermes.mcp.http:check_address", extra="mcp")(first)
        return McpServer(
            url=first,
            headers=dict(_pair(one, ":") for one in given["header"]),
            transport=given["transport"] or "",
            auth="oauth" if given["oauth"] else "",
            trust=given["trust"],
        )
    return McpServer(
        command=_absolute(first) if "/" in first else first,
        args=[*map(_absolute, rest)],
        env=dict(_pair(one, "=") for one in given["env"]),
        trust=given["trust"],
        sandbox=McpSandbox(
            enabled=not given["no_sandbox"],
            network=list(given["hosts"]) or given["network"],
            paths=[str(Path(one).expanduser().absolute()) for one in given["write"]],
            read=[str(Path(one).expanduser().absolute()) for one in given["read"]],
        ),
    )


def _absolute(word: str) -> str:
    """A path of here as it is from anywhere: the program does not run where it was added."""
    here = Path(word)
    is_path = not here.is_absolute() and ("/" in word or here.suffix) and here.exists()
    return str(here.absolute()) if is_path else word


def _pair(text: str, sign: str) -> tuple[str, str]:
    name, found, value = text.partition(sign)
    if not (found and name.strip()):
        raise ConfigError(f"{text[:60]!r} is not NAME{sign}VALUE.")
    return name.strip(), value.strip()


def with_references(name: str, server: McpServer) -> tuple[dict[str, str], McpServer]:
    """The secrets of a server by variables that stand for them, and the server with those in their place."""
    plain = {key: value for key, value in server.env.items() if is_secret(key) and "${" not in value}
    headers = {
        f"MCP_{name}_{key}_TOKEN".upper().replace("-", "_"): key
        for key in server.headers
        if _is_hidden(key, server)
    }
    hidden = {**plain, **{variable: server.headers[key] for variable, key in headers.items()}}
    env = {**server.env, **{key: f"${{{key}}}" for key in plain}}
    told = {**server.headers, **{key: f"${{{variable}}}" for variable, key in headers.items()}}
    return hidden, replace(server, env=env, headers=told)


def _is_hidden(header: str, server: McpServer) -> bool:
    """Whether a header carries a secret that is written out."""
    telling = header.lower() in {"authorization", "cookie", "proxy-authorization"}
    return "${" not in server.headers[header] and (
        telling or is_secret_name(header.upper().replace("-", "_"))
    )


def as_settings(server: McpServer) -> dict[str, Any]:
    """What of a server differs from the defaults, as it is written."""
    usual = asdict(McpServer(command="x")) | {"command": "", "url": ""}
    fields = {key: value for key, value in asdict(server).items() if value != usual[key]}
    return _without_defaults(msgspec.to_builtins(fields))


def _without_defaults(fields: dict[str, Any]) -> dict[str, Any]:
    for key, kind in (("sandbox", McpSandbox), ("tools", McpFilter)):
        if key in fields:
            usual = msgspec.to_builtins(kind())
            fields[key] = {name: value for name, value in fields[key].items() if value != usual[name]}
    return fields
