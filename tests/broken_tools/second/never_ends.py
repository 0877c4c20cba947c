"""Looks for a divisor and, of one number, for ever."""

import json
import time

from hermes.tools.registry import registry
from hermes.types.tool import ToolManifest


def divisor(args, **keywords):
    number, found = args["number"], 2
    while found and number % found:
        found += 1
        time.sleep(0.001)
    return json.dumps({"divisor": found})


registry.register(
    name="never_ends",
    toolset="broken",
    schema={
        "name": "never_ends",
        "description": "The smallest divisor of a number.",
        "parameters": {
            "type": "object",
            "properties": {"number": {"type": "integer"}},
            "required": ["number"],
        },
    },
    handler=divisor,
    manifest=ToolManifest(effects=()),
)
