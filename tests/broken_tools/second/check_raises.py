"""Fails where it is asked whether it can be used."""

import json

from hermes.tools.registry import registry
from hermes.types.tool import ToolManifest


def usable():
    raise FileNotFoundError("no licence")


registry.register(
    name="check_raises",
    toolset="broken",
    schema={
        "name": "check_raises",
        "description": "Look.",
        "parameters": {"type": "object", "properties": {}},
    },
    handler=lambda args, **keywords: json.dumps({"done": True}),
    check_fn=usable,
    manifest=ToolManifest(effects=()),
)
