"""Modal's control plane and command router on one loopback port, as far as sandboxes go; commands run here. Prints its address.

`GET`-like test switches are files in the folder given: `end` ends every sandbox.
"""

import asyncio
import base64
import json
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpclib.server
from google.protobuf.empty_pb2 import Empty
from grpclib import GRPCError, Status
from modal_proto import api_grpc
from modal_proto import api_pb2 as api
from modal_proto import task_command_router_grpc as router_grpc
from modal_proto import task_command_router_pb2 as router

FOLDER = Path(sys.argv[1])


def token() -> str:
    """An unsigned token that holds for a day."""

    def part(value: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'none'})}.{part({'exp': int(time.time()) + 86_400})}.c2ln"


def concrete(base: Any) -> Any:
    """The service with every method refused that is not overridden."""

    def refused(name: str) -> Any:
        async def method(_self: Any, _stream: Any) -> None:
            raise GRPCError(Status.UNIMPLEMENTED, f"not here: {name}")

        return method

    return type(base.__name__, (base,), {name: refused(name) for name in base.__abstractmethods__})


def unary(answer: Callable[[Any, Any], Awaitable[Any]]) -> Any:
    """A method that takes one message and gives one."""

    async def method(self: Any, stream: Any) -> None:
        await stream.send_message(await answer(self, await stream.recv_message()))

    return method


class Control(concrete(api_grpc.ModalClientBase)):  # type: ignore[misc]
    url = ""

    def __init__(self) -> None:
        self.running: dict[str, Any] = {}
        self.tags: dict[str, Any] = {}

    def name(self, prefix: str) -> str:
        return f"{prefix}-{len(self.running) + len(self.tags) + time.monotonic_ns():022d}"

    @unary
    async def ClientHello(self, _: Any) -> Any:
        return api.ClientHelloResponse()

    @unary
    async def AuthTokenGet(self, _: Any) -> Any:
        return api.AuthTokenGetResponse(token=token())

    @unary
    async def AppGetOrCreate(self, asked: Any) -> Any:
        return api.AppGetOrCreateResponse(app_id=f"ap-{asked.app_name}")

    @unary
    async def EnvironmentGetOrCreate(self, asked: Any) -> Any:
        settings = api.EnvironmentSettings(image_builder_version="2025.06")
        metadata = api.EnvironmentMetadata(name=asked.deployment_name or "main", settings=settings)
        return api.EnvironmentGetOrCreateResponse(environment_id="en-1", metadata=metadata)

    @unary
    async def ImageGetOrCreate(self, asked: Any) -> Any:
        (FOLDER / "images").open("a").write(f"{list(asked.image.dockerfile_commands)}\n")
        done = api.GenericResult(status=api.GenericResult.GENERIC_STATUS_SUCCESS)
        metadata = api.ImageMetadata(image_builder_version="2025.06")
        return api.ImageGetOrCreateResponse(image_id=self.name("im"), result=done, metadata=metadata)

    @unary
    async def ImageFromId(self, asked: Any) -> Any:
        (FOLDER / "images").open("a").write(f"{asked.image_id}\n")
        return api.ImageFromIdResponse(
            image_id=asked.image_id, metadata=api.ImageMetadata(image_builder_version="2025.06")
        )

    @unary
    async def SandboxCreateV2(self, asked: Any) -> Any:
        name = self.name("sb")
        self.running[name] = None
        self.tags[name] = list(asked.tags) if hasattr(asked, "tags") else []
        access = api.CommandRouterAccess(url=self.url, jwt=token())
        return api.SandboxCreateV2Response(
            sandbox_id=name, task_id=f"ta-{name[3:]}V", command_router_access=access
        )

    @unary
    async def SandboxGetCommandRouterAccess(self, _: Any) -> Any:
        return api.SandboxGetCommandRouterAccessResponse(url=self.url, jwt=token())

    @unary
    async def SandboxTagsSet(self, asked: Any) -> Any:
        self.tags[asked.sandbox_id] = list(asked.tags)
        return Empty()

    @unary
    async def SandboxTagsGet(self, asked: Any) -> Any:
        return api.SandboxTagsGetResponse(tags=self.tags.get(asked.sandbox_id, []))

    @unary
    async def SandboxTerminateV2(self, asked: Any) -> Any:
        self.end(asked.sandbox_id)
        return api.SandboxTerminateResponse()

    @unary
    async def SandboxTerminate(self, asked: Any) -> Any:
        self.end(asked.sandbox_id)
        return api.SandboxTerminateResponse()

    def end(self, name: str) -> None:
        self.running[name] = api.GenericResult(
            status=api.GenericResult.GENERIC_STATUS_TERMINATED, exitcode=137
        )

    def check(self) -> None:
        if (FOLDER / "end").exists():
            for name in self.running:
                self.end(name)
            (FOLDER / "end").unlink()

    @unary
    async def SandboxWaitV2(self, asked: Any) -> Any:
        return await self.waited(asked)

    @unary
    async def SandboxWait(self, asked: Any) -> Any:
        return await self.waited(asked)

    async def waited(self, asked: Any) -> Any:
        end = time.monotonic() + asked.timeout
        self.check()
        while self.running.get(asked.sandbox_id) is None and time.monotonic() < end:
            await asyncio.sleep(0.05)
            self.check()
        return api.SandboxWaitResponse(result=self.running.get(asked.sandbox_id))

    @unary
    async def SandboxListV2(self, asked: Any) -> Any:
        if asked.before_timestamp:
            return api.SandboxListResponse(sandboxes=[])
        alive = [name for name, ended in self.running.items() if ended is None]
        return api.SandboxListResponse(
            sandboxes=[
                api.SandboxInfo(id=name, created_at=1, task_info=api.TaskInfo(), tags=self.tags.get(name, []))
                for name in alive
            ]
        )


class Run:
    """One command."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.data = {1: bytearray(), 2: bytearray()}
        self.ended = {1: False, 2: False}
        self.code: int | None = None
        self.changed = asyncio.Condition()

    async def pump(self, number: int, stream: Any) -> None:
        while data := await stream.read(65_536):
            async with self.changed:
                self.data[number] += data
                self.changed.notify_all()
        async with self.changed:
            self.ended[number] = True
            self.changed.notify_all()

    async def wait(self) -> None:
        code = await self.process.wait()
        async with self.changed:
            self.code = code
            self.changed.notify_all()


class Router(concrete(router_grpc.TaskCommandRouterBase)):  # type: ignore[misc]
    def __init__(self, control: Control) -> None:
        self.control = control
        self.runs: dict[str, Run] = {}
        self.tasks: list[asyncio.Task[None]] = []

    @unary
    async def TaskExecStart(self, asked: Any) -> Any:
        self.control.check()
        if all(ended is not None for ended in self.control.running.values()):
            raise GRPCError(Status.NOT_FOUND, "the task has ended")
        process = await asyncio.create_subprocess_exec(
            *asked.command_args,
            stdin=-3,
            stdout=-1,
            stderr=-1,
            cwd=asked.workdir or None,
            start_new_session=True,
        )
        run = self.runs[asked.exec_id] = Run(process)
        jobs = (run.pump(1, process.stdout), run.pump(2, process.stderr), run.wait())
        self.tasks += [asyncio.create_task(job) for job in jobs]
        return router.TaskExecStartResponse()

    async def TaskExecStdioRead(self, stream: Any) -> None:
        asked = await stream.recv_message()
        run, offset = self.runs[asked.exec_id], asked.offset
        number = 1 if asked.file_descriptor == router.TASK_EXEC_STDIO_FILE_DESCRIPTOR_STDOUT else 2
        await stream.send_initial_metadata()
        while True:
            async with run.changed:
                await run.changed.wait_for(lambda: len(run.data[number]) > offset or run.ended[number])
                data, is_over = bytes(run.data[number][offset:]), run.ended[number]
            for start in range(0, len(data), 1_000_000):
                await stream.send_message(
                    router.TaskExecStdioReadResponse(data=data[start : start + 1_000_000])
                )
            offset += len(data)
            if is_over and not data:
                return

    @unary
    async def TaskExecWait(self, asked: Any) -> Any:
        run = self.runs[asked.exec_id]
        async with run.changed:
            await run.changed.wait_for(lambda: run.code is not None)
        return router.TaskExecWaitResponse(code=run.code if run.code is not None and run.code >= 0 else 137)

    @unary
    async def TaskSnapshotFilesystem(self, _: Any) -> Any:
        return router.TaskSnapshotFilesystemResponse(image_id="im-kept0000000000000000")


async def main() -> None:
    control = Control()
    server = grpclib.server.Server([control, Router(control)])
    await server.start("127.0.0.1", 0)
    port = server._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
    control.url = f"http://127.0.0.1:{port}"
    sys.stdout.write(f"{control.url}\n")
    sys.stdout.flush()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: os._exit(0))
    await server.wait_closed()


if __name__ == "__main__":
    asyncio.run(main())
