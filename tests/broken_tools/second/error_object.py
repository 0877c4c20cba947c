"""Tells of a failure by an object in place of a sentence."""

import json

from hermes.tools.registry import registry
from hermes.types.tool import ToolManifest


def find(args, **keywords):
    return json.dumps({"error": {"code": 404, "text": args["path"]}})


registry.register(
    name="error_object",
    toolset="broken",
    schema={
        "name": "error_object",
        "description": "Find a file.",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
        },
    },
    handler=find,
    manifest=ToolManifest(effects=()),
)
