"""Starts a task that nobody waits for."""

import asyncio
import json

from hermes.tools.registry import registry
from hermes.types.tool import ToolManifest


async def watch(args, **keywords):
    asyncio.get_running_loop().create_task(asyncio.sleep(120))
    return json.dumps({"watching": True})


registry.register(
    name="leaves_task",
    toolset="broken",
    schema={
        "name": "leaves_task",
        "description": "Watch something.",
        "parameters": {"type": "object", "properties": {}},
    },
    handler=watch,
    is_async=True,
    manifest=ToolManifest(effects=()),
)
