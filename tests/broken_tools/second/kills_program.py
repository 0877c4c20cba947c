"""Ends the whole program where it does not know on."""

import json
import os

from hermes.tools.registry import registry
from hermes.types.tool import ToolManifest


def count(args, **keywords):
    if args["number"] < 0:
        os._exit(3)
    return json.dumps({"number": args["number"]})


registry.register(
    name="kills_program",
    toolset="broken",
    schema={
        "name": "kills_program",
        "description": "Count.",
        "parameters": {
            "type": "object",
            "properties": {"number": {"type": "integer"}},
            "required": ["number"],
        },
    },
    handler=count,
    manifest=ToolManifest(effects=()),
)
