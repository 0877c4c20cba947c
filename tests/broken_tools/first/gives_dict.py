"""Gives an object where a JSON text is due."""

from hermes.tools.registry import registry
from hermes.types.tool import ToolManifest

registry.register(
    name="gives_dict",
    toolset="broken",
    schema={
        "name": "gives_dict",
        "description": "Tell the state.",
        "parameters": {"type": "object", "properties": {}},
    },
    handler=lambda args, **keywords: {"state": "good"},
    manifest=ToolManifest(effects=()),
)
