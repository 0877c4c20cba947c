"""A process that has called a server once and then waits to be killed."""

import os

import anyio

from hermes.runtime import open_runtime


async def main() -> None:
    async with open_runtime(environ=dict(os.environ)) as runtime:
        await runtime.mcp.connect("bad")
        entry = runtime.registry.get_entry("mcp__bad__echo")
        assert entry is not None
        print(await entry.handler({"text": "x"}), flush=True)  # type: ignore[misc]  # noqa: T201
        await anyio.sleep(600)


anyio.run(main)
