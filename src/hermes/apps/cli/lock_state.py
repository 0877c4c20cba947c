"""What a new session would be made of here, for `agent.lock`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hermes.agent.capabilities import CapabilitySettings
from hermes.agent.spec import SessionOptions
from hermes.apps.cli.agent_lock import AgentLock, LockedItem, Section
from hermes.apps.cli.choices import Choices, session_options
from hermes.apps.cli.cli_context import home_with_skills
from hermes.apps.cli.locked_guests import locked_hooks, locked_plugins
from hermes.apps.cli.locked_words import PortableWords, written
from hermes.environments.settings import TerminalSettings
from hermes.mcp.settings import McpSettings
from hermes.runtime import Runtime, open_runtime
from hermes.safety.settings import AllowlistSettings, ApprovalSettings, SecuritySettings
from hermes.skills.digest import digest

_POLICY: Final[Mapping[str, type[Struct]]] = {
    "approvals": ApprovalSettings,
    "capabilities": CapabilitySettings,
    "command_allowlist": AllowlistSettings,
    "security": SecuritySettings,
    "terminal": TerminalSettings,
}
_MCP: Final = "mcp-"


async def locked_now(choices: Choices) -> AgentLock:
    """The lock of a session that would begin now with these options."""
    home_with_skills(choices)
    options = replace(session_options(choices, attended=True), resume="")
    async with open_runtime(profile=choices.profile, flags=choices.flags) as runtime:
        words = PortableWords(runtime)
        tools = await _prompt_and_tools(runtime, options, words)
        found: dict[Section, dict[str, LockedItem]] = {
            "model": _model(runtime, options, words),
            **tools,
            "mcp": {**_servers(runtime, words), **tools["mcp"]},
            "plugins": locked_plugins(runtime, words),
            "hooks": locked_hooks(runtime, words),
            "skills": {one.name: _folder(one.folder) for one in runtime.services.skills.skills()},
            "policy": _policy(runtime, words, yolo=choices.yolo),
        }
    return AgentLock(locked=found)


def _model(runtime: Runtime, options: SessionOptions, words: PortableWords) -> dict[str, LockedItem]:
    endpoint = runtime.routes.unkeyed(options.model, options.base_url)
    address = "" if endpoint.local else endpoint.base_url  # one that runs here has another at each start
    return {"name": words.item(endpoint.full_name), "endpoint": words.item(address)}


async def _prompt_and_tools(
    runtime: Runtime, options: SessionOptions, words: PortableWords
) -> dict[Section, dict[str, LockedItem]]:
    spans, snapshot = await runtime.prompt_spans(options)
    texts: dict[str, str] = {}
    for section, span in spans:
        if span.lasting:
            name = section if span.source == "built in" else f"{section}: {words.portable(span.source)}"
            texts[name] = "\n\n".join(filter(None, (texts.get(name), span.text)))
    tools: dict[Section, dict[str, LockedItem]] = {"tools": {}, "mcp": {}}
    for one in (*snapshot.definitions, *snapshot.deferred):
        name = one["function"]["name"]
        toolset = snapshot.tools[name].toolset
        by = f"server {toolset.removeprefix(_MCP)}" if toolset.startswith(_MCP) else ""
        tools["mcp" if by else "tools"][name] = words.item(written(one["function"]), by=by)
    return {"prompt": {name: words.item(text) for name, text in texts.items()}, **tools}


def _servers(runtime: Runtime, words: PortableWords) -> dict[str, LockedItem]:
    """How each MCP server is started, what it may do and what is asked before it does."""
    servers = runtime.settings[McpSettings].mcp_servers
    return {f"server {name}": words.item(written(one)) for name, one in servers.items() if one.enabled}


def _folder(folder: str) -> LockedItem:
    return LockedItem(sha256=digest(Path(folder)))


def _policy(runtime: Runtime, words: PortableWords, *, yolo: bool) -> dict[str, LockedItem]:
    settings = {name: words.item(written(runtime.settings[kind])) for name, kind in _POLICY.items()}
    return {**settings, "yolo": words.item(json.dumps(yolo))}
