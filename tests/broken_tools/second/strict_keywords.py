"""Takes its arguments as keywords, and no other than those that it knows."""

import json

from hermes.tools.registry import registry
from hermes.types.tool import ToolManifest


def add(a, b=0):
    return a + b


registry.register(
    name="strict_keywords",
    toolset="broken",
    schema={
        "name": "strict_keywords",
        "description": "Add two numbers.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a"],
        },
    },
    handler=lambda args, **keywords: json.dumps({"sum": add(**args)}),
    manifest=ToolManifest(effects=()),
)
