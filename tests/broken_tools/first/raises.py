"""Takes for granted an argument that its schema leaves out."""

import json

from hermes.tools.registry import registry
from hermes.types.tool import ToolManifest


def greet(args, **keywords):
    return json.dumps({"greeting": f"Hello {args['name']}"})


registry.register(
    name="raises",
    toolset="broken",
    schema={
        "name": "raises",
        "description": "Greet somebody.",
        "parameters": {"type": "object", "properties": {"name": {"type": "string"}}},
    },
    handler=greet,
    manifest=ToolManifest(effects=()),
)
