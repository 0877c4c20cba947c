"""Has a schema with a type that JSON does not have."""

import json

from hermes.tools.registry import registry
from hermes.types.tool import ToolManifest

registry.register(
    name="bad_schema",
    toolset="broken",
    schema={
        "name": "bad_schema",
        "description": "Repeat a word.",
        "parameters": {"type": "object", "properties": {"word": {"type": "str"}}},
    },
    handler=lambda args, **keywords: json.dumps({"word": args.get("word")}),
    manifest=ToolManifest(effects=()),
)
