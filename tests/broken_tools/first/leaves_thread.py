"""Starts a thread that goes on after the call."""

import json
import threading
import time

from hermes.tools.registry import registry
from hermes.types.tool import ToolManifest


def watch(args, **keywords):
    threading.Thread(target=time.sleep, args=(120,), name="watcher", daemon=True).start()
    return json.dumps({"watching": True})


registry.register(
    name="leaves_thread",
    toolset="broken",
    schema={
        "name": "leaves_thread",
        "description": "Watch something.",
        "parameters": {"type": "object", "properties": {}},
    },
    handler=watch,
    manifest=ToolManifest(effects=()),
)
