"""Tells of a failure by its traceback."""

import json
import traceback

from hermes.tools.registry import registry
from hermes.types.tool import ToolManifest


def half(args, **keywords):
    try:
        return json.dumps({"half": 100 / args["number"]})
    except ZeroDivisionError:
        return json.dumps({"error": traceback.format_exc()})


registry.register(
    name="gives_traceback",
    toolset="broken",
    schema={
        "name": "gives_traceback",
        "description": "Divide a hundred.",
        "parameters": {
            "type": "object",
            "properties": {"number": {"type": "integer", "minimum": 0}},
            "required": ["number"],
        },
    },
    handler=half,
    manifest=ToolManifest(effects=()),
)
