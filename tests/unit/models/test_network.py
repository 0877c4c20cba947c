from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import httpx2
import pytest

from hermes.config.sections import Settings
from hermes.lib.connection_pool import ConnectionPool
from hermes.models.client import Timeouts, client_for, send
from hermes.models.settings import NetworkSettings, OwnProvider, ProviderSettings
from hermes.models.transports.base import StalledError, StatusError, WireRequest
from hermes.models.transports.registry import transport_for
from hermes.types.error import ConfigError
from hermes.types.request import Endpoint, Request


@pytest.mark.parametrize(
    "settings",
    [
        Settings((NetworkSettings(ca_cert="/no/such.pem"),)),
        Settings((ProviderSettings(providers={"openai": OwnProvider(ca_cert="/no/such.pem")}),)),
        Settings(
            (
                ProviderSettings(
                    custom_providers=[
                        OwnProvider(name="mine", base_url="https://127.0.0.1:1/v1", ca_cert="/no/such.pem")
                    ]
                ),
            )
        ),
    ],
)
def test_a_certificate_that_is_not_there_is_a_fault_of_the_settings(settings: Settings) -> None:
    with pytest.raises(ConfigError, match=r"/no/such\.pem is not a file of certificates"):
        client_for(settings, {})


@pytest.mark.anyio
async def test_settings_that_say_nothing_give_a_client(tmp_path: Path) -> None:
    async with client_for(Settings(), {}) as http:
        assert not http.trust_env


class Line(httpx2.AsyncBaseTransport):
    """One connection, which answers after so many seconds, or begins to and stops."""

    def __init__(self, made: list["Line"], seconds: list[float]) -> None:
        made.append(self)
        self.seconds, self.closed = seconds, False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await anyio.sleep(self.seconds[0])
        return httpx2.Response(200 if self.seconds[1] else 503, stream=Stopping(self.seconds[1]))

    async def aclose(self) -> None:
        self.closed = True


class Stopping(httpx2.AsyncByteStream):
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b": still here\n\n"
        await anyio.sleep(self.seconds)


@pytest.mark.anyio
@pytest.mark.parametrize("stall", [[60.0, 0.0], [0.0, 60.0]], ids=["no answer", "an answer that stops"])
async def test_after_a_stall_no_idle_connection_to_that_server_is_used_again(stall: list[float]) -> None:
    made: list[Line] = []
    seconds = [0.02, 0.0]
    endpoint = Endpoint(provider="p", base_url="http://h/v1", model="m")
    transport, request = transport_for(endpoint), Request(endpoint=endpoint, system="", messages=())

    async def ask() -> None:
        limits = Timeouts(first_byte=0.1, idle=0.1)
        reader = transport.reader(request)
        await send(http, WireRequest(url="http://h/v1", headers={}, body=b""), reader, limits, print)

    async def refused() -> None:
        with pytest.raises(StatusError):
            await ask()

    async with httpx2.AsyncClient(transport=ConnectionPool(lambda: Line(made, seconds))) as http:
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(refused)
        seconds[:] = stall
        with pytest.raises(StalledError):
            await ask()
        assert [one.closed for one in made] == [True] * 3
        seconds[:] = [0.0, 0.0]
        await refused()
        assert len(made) == 4
