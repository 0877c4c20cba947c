"""Asks for ever whether it can be used."""

import json
import time

from hermes.tools.registry import registry
from hermes.types.tool import ToolManifest

registry.register(
    name="check_hangs",
    toolset="broken",
    schema={
        "name": "check_hangs",
        "description": "Look.",
        "parameters": {"type": "object", "properties": {}},
    },
    handler=lambda args, **keywords: json.dumps({"done": True}),
    check_fn=lambda: time.sleep(300),
    manifest=ToolManifest(effects=()),
)
