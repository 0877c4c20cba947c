"""Says that its calls may run side by side, and keeps the word of each where the next one writes."""

import json
import time

from hermes.tools.registry import registry
from hermes.types.tool import ToolManifest

current = {}


def repeat(args, **keywords):
    current["word"] = args["word"]
    time.sleep(0.05)
    return json.dumps({"word": current["word"]})


registry.register(
    name="shares_state",
    toolset="broken",
    schema={
        "name": "shares_state",
        "description": "Repeat a word.",
        "parameters": {
            "type": "object",
            "properties": {"word": {"type": "string"}},
            "required": ["word"],
        },
    },
    handler=repeat,
    manifest=ToolManifest(effects=(), parallel="safe"),
)
