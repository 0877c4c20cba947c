"""MCP servers as other programs write them, in our words.

None is trusted more than one that is added by hand, and what may be a secret goes into `.env`.
"""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from hermes.apps.cli.homes.part import KEPT, THERE, Ours, Part
from hermes.apps.cli.mcp_words import as_settings
from hermes.config.edit import set_key, set_secret
from hermes.lib.lazy import import_object
from hermes.lib.secretnames import is_secret_name
from hermes.lib.visible import visible
from hermes.mcp.names import SERVER_NAME
from hermes.mcp.settings import McpServer
from hermes.mcp.words import where
from hermes.types.error import HermesError

_SAME: Final = ("command", "args", "env", "cwd", "url", "headers", "transport", "auth", "enabled", "tools")
"""What is called so elsewhere, too, and lets a server do no more."""
_OTHER: Final = re.compile(r"[^A-Za-z0-9_]")
_REFERENCE: Final = re.compile(r"\$\{(?:env:)?(\w+)(?::-[^}]*)?\}|\{env:(\w+)\}|\$(\w+)")


def servers(given: Mapping[str, Any], ours: Ours, *, milliseconds: bool = False) -> Iterator[Part]:
    """The servers of a mapping by name; times are in seconds unless they are in `milliseconds`."""
    for name, entry in given.items():
        yield _server(str(name), entry, ours, 1000 if milliseconds else 1)


def _server(given: str, entry: Any, ours: Ours, divisor: int) -> Part:
    name = re.sub(r"[^A-Za-z0-9_-]", "-", given).strip("-_")[:40]
    told = partial(Part, kind="mcp", name=visible(given[:80]))
    if not SERVER_NAME.fullmatch(name) or not isinstance(entry, Mapping):
        return told(becomes="not taken: it is no server")
    try:
        server = msgspec.convert(_fields(entry, divisor), McpServer)
        if not server.is_local:
            import_object("hermes.mcp.http:check_address", extra="mcp")(server.url)
    except (msgspec.ValidationError, HermesError, ArithmeticError, RecursionError) as error:
        return told(becomes=f"not taken: {error}")
    fields, secrets = _without_secrets(name, as_settings(server), ours)
    here = ours.values["mcp_servers"].value if "mcp_servers" in ours.values else {}
    if name in here:
        return told(becomes=THERE if as_settings(_filled(here[name])) == fields else KEPT)
    return told(
        becomes=f"added: {visible(where(msgspec.convert(fields, McpServer)))[:100]}",
        take=partial(_add, ours, name, fields, secrets),
    )


def _filled(server: Any) -> McpServer:
    return server if isinstance(server, McpServer) else msgspec.convert(server, McpServer)


def _add(ours: Ours, name: str, fields: Mapping[str, Any], secrets: Mapping[str, str]) -> None:
    for variable, value in secrets.items():
        set_secret(ours.home.env_file, variable, value)
    set_key(ours.home.config_file, f"mcp_servers.{name}", msgspec.json.encode(fields).decode())


def _fields(entry: Mapping[str, Any], divisor: int) -> dict[str, Any]:
    """What an entry says, in our words, whichever of the programs has written it."""
    command, address = (
        entry.get("command"),
        entry.get("httpUrl") or entry.get("url") or entry.get("serverUrl"),
    )
    found = {key: entry[key] for key in _SAME if key in entry}
    if isinstance(command, list):  # the program and its arguments
        found |= {"command": str(command[0]) if command else "", "args": command[1:]}
    if address:
        found["url"] = address
    if "environment" in entry:
        found["env"] = entry["environment"]
    found["headers"] = _headers(entry)
    if (seconds := entry.get("timeout") or entry.get("tool_timeout_sec")) and "timeout" in entry:
        found["timeout"] = seconds / divisor if isinstance(seconds, int | float) else seconds
    if entry.get("disabled") is True:
        found["enabled"] = False
    offered = {"include": entry.get("includeTools"), "exclude": entry.get("excludeTools")}
    if any(offered.values()):
        found["tools"] = {key: names for key, names in offered.items() if names}
    if not isinstance(found.get("auth", ""), str) or found.get("auth") not in {None, "oauth", "header"}:
        found.pop("auth", None)
    kind = found.pop("transport", None) or entry.get("type")
    if kind == "sse" and address:
        found["transport"] = "sse"
    return {key: _translated(value) for key, value in found.items() if value not in (None, {}, [])}


def _headers(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The headers of an address, those among them that name a variable."""
    found: dict[str, Any] = {}
    for key in ("headers", "http_headers"):
        found |= entry[key] if isinstance(entry.get(key), Mapping) else {}
    named = entry.get("env_http_headers")
    found |= {key: f"${{{name}}}" for key, name in named.items()} if isinstance(named, Mapping) else {}
    if token := entry.get("bearer_token_env_var"):
        found["Authorization"] = f"Bearer ${{{token}}}"
    return found


def _translated(value: Any) -> Any:
    """References to variables as they are written here."""
    if isinstance(value, str):
        return _REFERENCE.sub(lambda one: f"${{{one[1] or one[2] or one[3]}}}", value)
    if isinstance(value, Mapping):
        return {str(key): _translated(one) for key, one in value.items()}
    return [_translated(one) for one in value] if isinstance(value, list) else value


def _without_secrets(name: str, fields: dict[str, Any], ours: Ours) -> tuple[dict[str, Any], dict[str, str]]:
    """The fields with references in place of what may be secret, and those values by variable."""
    secrets: dict[str, str] = {}
    for part, values in ((one, fields[one]) for one in ("env", "headers") if one in fields):
        for key, value in values.items():
            if "${" not in value and (part == "headers" or is_secret_name(key)):
                variable = _variable(name, key, value, ours)
                secrets[variable] = value
                fields[part] = {**fields[part], key: f"${{{variable}}}"}
    return fields, secrets


def _variable(server: str, key: str, value: str, ours: Ours) -> str:
    """A name that says that it holds a secret, and that stands for nothing else here."""
    plain = _OTHER.sub("_", f"MCP_{server}_{key}").upper()
    first = plain if is_secret_name(plain) else f"{plain}_TOKEN"
    names = (first, *(f"{plain}_{number}_TOKEN" for number in range(2, 100)))
    return next(one for one in names if ours.variables.get(one, value) == value)
