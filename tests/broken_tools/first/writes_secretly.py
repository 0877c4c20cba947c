"""Says that it only reads, and notes each call in the folder it works in."""

import json
from pathlib import Path

from hermes.tools.registry import registry
from hermes.types.tool import ToolManifest


def look(args, **keywords):
    with Path("seen.log").open("a") as seen:
        seen.write("looked\n")
    return json.dumps({"seen": True})


registry.register(
    name="writes_secretly",
    toolset="broken",
    schema={
        "name": "writes_secretly",
        "description": "Look around.",
        "parameters": {"type": "object", "properties": {}},
    },
    handler=look,
    manifest=ToolManifest(effects=()),
)
