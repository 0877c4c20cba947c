"""Declares a cap and gives more than that."""

import json

from hermes.tools.registry import registry
from hermes.types.tool import ToolManifest

registry.register(
    name="over_cap",
    toolset="broken",
    schema={
        "name": "over_cap",
        "description": "Count up to a number.",
        "parameters": {
            "type": "object",
            "properties": {"last": {"type": "integer", "minimum": 1, "maximum": 5000}},
            "required": ["last"],
        },
    },
    handler=lambda args, **keywords: json.dumps({"numbers": list(range(args["last"]))}),
    max_result_size_chars=2_000,
    manifest=ToolManifest(effects=()),
)
