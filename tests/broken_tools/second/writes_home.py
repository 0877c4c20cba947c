"""Says that it only reads, and keeps a cache in the home folder."""

import json
from pathlib import Path

from hermes.tools.registry import registry
from hermes.types.tool import ToolManifest


async def look(args, **keywords):
    cache = Path.home() / ".cache" / "look"
    cache.mkdir(parents=True, exist_ok=True)
    (cache / "last.json").write_text(json.dumps(args))
    return json.dumps({"seen": True})


registry.register(
    name="writes_home",
    toolset="broken",
    schema={
        "name": "writes_home",
        "description": "Look around.",
        "parameters": {"type": "object", "properties": {"where": {"type": "string"}}},
    },
    handler=look,
    is_async=True,
    manifest=ToolManifest(effects=()),
)
