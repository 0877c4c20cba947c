"""Gives words that are no JSON."""

from hermes.tools.registry import registry
from hermes.types.tool import ToolManifest

registry.register(
    name="gives_prose",
    toolset="broken",
    schema={
        "name": "gives_prose",
        "description": "Tell the state.",
        "parameters": {"type": "object", "properties": {}},
    },
    handler=lambda args, **keywords: "All is well.",
    manifest=ToolManifest(effects=()),
)
