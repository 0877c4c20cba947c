"""What a new session would be made of here, for `agent.lock`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hermes.agent.capabilities import CapabilitySettings
from hermes.agent.spec import SessionOptions
from hermes.apps.cli.agent_lock import AgentLock, LockedItem, Section, locked_text
from hermes.apps.cli.choices import Choices, session_options
from hermes.apps.cli.cli_context import home_with_skills
from hermes.environments.settings import TerminalSettings
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
    async with open_runtime(profile=choices.profile) as runtime:
        words = _PortableWords(runtime)
        tools = await _prompt_and_tools(runtime, options, words)
        found: dict[Section, dict[str, LockedItem]] = {
            "model": _model(runtime, options, words),
            **tools,
            "skills": {one.name: _folder(one.folder) for one in runtime.services.skills.skills()},
            "policy": _policy(runtime, words, yolo=choices.yolo),
        }
    return AgentLock(locked=found)


class _PortableWords:
    """Texts as they are locked: without credentials, and the same on every machine and in every folder."""

    def __init__(self, runtime: Runtime) -> None:
        self._redact = runtime.services.redactor.redact
        root, user = str(runtime.home.root), runtime.environ.get("HOME") or str(Path.home())
        self._places = {root: "<home of Hermes>", str(Path.cwd()): "<folder>", user: "~"}

    def item(self, text: str) -> LockedItem:
        return locked_text(self.portable(text))

    def portable(self, text: str) -> str:
        for place, name in self._places.items():
            text = text.replace(place, name)
        return self._redact(text)


def _model(runtime: Runtime, options: SessionOptions, words: _PortableWords) -> dict[str, LockedItem]:
    endpoint = runtime.routes.unkeyed(options.model, options.base_url)
    address = "" if endpoint.local else endpoint.base_url  # one that runs here has another at each start
    return {"name": words.item(endpoint.full_name), "endpoint": words.item(address)}


async def _prompt_and_tools(
    runtime: Runtime, options: SessionOptions, words: _PortableWords
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
        of_server = snapshot.tools[name].toolset.startswith(_MCP)
        tools["mcp" if of_server else "tools"][name] = words.item(_written(one["function"]))
    return {"prompt": {name: words.item(text) for name, text in texts.items()}, **tools}


def _folder(folder: str) -> LockedItem:
    return LockedItem(sha256=digest(Path(folder)))


def _policy(runtime: Runtime, words: _PortableWords, *, yolo: bool) -> dict[str, LockedItem]:
    settings = {name: words.item(_written(runtime.settings[kind])) for name, kind in _POLICY.items()}
    return {**settings, "yolo": words.item(json.dumps(yolo))}


def _written(value: Any) -> str:
    """A value as lines of JSON, which show what differs."""
    return json.dumps(msgspec.to_builtins(value), indent=1, sort_keys=True, ensure_ascii=False)
