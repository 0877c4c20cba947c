"""Does not say what it is for."""

import json

from hermes.tools.registry import registry
from hermes.types.tool import ToolManifest

registry.register(
    name="no_description",
    toolset="broken",
    schema={"name": "no_description", "parameters": {"type": "object", "properties": {}}},
    handler=lambda args, **keywords: json.dumps({"done": True}),
    manifest=ToolManifest(effects=()),
)
