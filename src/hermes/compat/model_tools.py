"""`model_tools`: definitions and calls of tools under their published names (tools runtime paper)."""

import asyncio  # noqa: TID251  # a plugin's own code is asyncio
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from hermes.tools.registry import registry, tool_error
from hermes.tools.schemas import get_tool_definitions

__all__ = ["get_all_tool_names", "get_tool_definitions", "get_toolset_for_tool", "handle_function_call"]


def handle_function_call(
    function_name: str,
    function_args: Mapping[str, Any],
    task_id: str | None = None,
    user_task: str | None = None,
    **keywords: Any,
) -> str:
    """Run a tool by name and give its JSON string; a fault of the call itself is an error in it."""
    try:
        told = {"task_id": task_id or "default", "user_task": user_task or "", **keywords}
        return registry.dispatch(function_name, function_args, **told)
    except Exception as error:  # noqa: BLE001  # the documented second layer: nothing leaves but JSON
        return tool_error(f"Error executing {function_name}: {error}")


def get_all_tool_names() -> list[str]:
    """All names, sorted."""
    return registry.get_all_tool_names()


def get_toolset_for_tool(tool_name: str) -> str | None:
    """The toolset a tool belongs to, or None."""
    return registry.get_toolset_for_tool(tool_name)


def _run_async(coro: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine gives, for plain code; it runs on a loop of its own."""
    with ThreadPoolExecutor(max_workers=1) as threads:
        return threads.submit(asyncio.run, coro).result()
