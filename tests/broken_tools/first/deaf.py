"""Goes on when it is cancelled."""

import asyncio
import json
import time
from contextlib import suppress

from hermes.tools.registry import registry
from hermes.types.tool import ToolManifest


async def wait(args, **keywords):
    over = time.monotonic() + 60
    while time.monotonic() < over:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0.2)
    return json.dumps({"waited": True})


registry.register(
    name="deaf",
    toolset="broken",
    schema={
        "name": "deaf",
        "description": "Wait a minute.",
        "parameters": {"type": "object", "properties": {}},
    },
    handler=wait,
    is_async=True,
    manifest=ToolManifest(effects=()),
)
