"""Starts a program that goes on after the call."""

import json
import subprocess

from hermes.tools.registry import registry
from hermes.types.tool import ToolManifest


def serve(args, **keywords):
    started = subprocess.Popen(["sleep", "120"])
    return json.dumps({"pid": started.pid})


registry.register(
    name="leaves_process",
    toolset="broken",
    schema={
        "name": "leaves_process",
        "description": "Start a server.",
        "parameters": {"type": "object", "properties": {}},
    },
    handler=serve,
    manifest=ToolManifest(effects=("processes",)),
)
