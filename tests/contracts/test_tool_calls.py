"""A program asks for things while it runs, in every environment; what is no request of it is not answered."""

from importlib.resources import files
from pathlib import Path

import anyio
import pytest

from hermes.types.script import Script
from tests.contracts.conftest import Bench

pytestmark = pytest.mark.anyio
MODULE = (files("hermes.agent.code_execution") / "client.py").read_text() + (
    "\n\ndef ask(text):\n    return _LINES[0].ask(text.encode()).decode()\n"
)


class Answers:
    """Says what it was asked, in capitals."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, request: bytes) -> bytes:
        self.asked.append(request.decode())
        await anyio.lowlevel.checkpoint()
        return request.decode().upper().encode()


async def ran(bench: Bench, answers: Answers, code: str, seconds: float = 60) -> str:
    script = Script(code=f"import hermes_tools as tools\n{code}")
    done = await bench.space.run_script(script, module=MODULE, answer=answers, timeout=seconds)
    return done.text + done.errors


async def test_a_program_asks_and_is_answered_beside_the_carried_shell(bench: Bench) -> None:
    answers = Answers()
    await bench.space.run("export A=carried", timeout=20)
    code = (
        "import os\nprint(tools.ask('one'), tools.ask('zwei ä'), os.environ['A'])\nos.environ['A'] = 'lost'"
    )
    assert await ran(bench, answers, code) == "ONE ZWEI Ä carried\n"
    assert answers.asked == ["one", "zwei ä"]
    assert (await bench.space.run("echo $A", timeout=20)).text == "carried\n"


async def test_the_folder_goes_with_the_program(bench: Bench) -> None:
    folder = (await ran(bench, Answers(), "print(tools._FOLDER)")).strip()
    assert (await bench.space.run(f"ls -d {folder} 2>/dev/null || echo gone", timeout=20)).text == "gone\n"


@pytest.mark.parametrize("place", ["confined", "open"])
class TestBySocket:
    """What others than a plain script may send."""

    async def test_threads_and_forked_children_have_ways_of_their_own(self, bench: Bench) -> None:
        answers = Answers()
        code = (
            "import os, threading\n"
            "threads = [threading.Thread(target=tools.ask, args=(f't{n}',)) for n in range(5)]\n"
            "[one.start() for one in threads]\n[one.join() for one in threads]\n"
            "for n in range(5):\n    if os.fork() == 0:\n        tools.ask(f'c{n}')\n        os._exit(0)\n"
            "[os.wait() for _ in range(5)]\nprint(tools.ask('end'))"
        )
        assert await ran(bench, answers, code) == "END\n"
        assert sorted(answers.asked) == [*(f"c{n}" for n in range(5)), "end", *(f"t{n}" for n in range(5))]

    async def test_a_client_without_the_token_is_not_heard(self, bench: Bench) -> None:
        answers = Answers()
        code = (
            "import socket, os\nos.chdir(tools._FOLDER)\n"
            "for sent in (b'x' * 32, b'', b'\\0\\0\\0\\x20' + b'0' * 32, b'\\xff' * 40):\n"
            "    stream = socket.socket(socket.AF_UNIX)\n    stream.connect('socket')\n"
            "    try:\n"
            "        stream.sendall(sent + b'\\0\\0\\0\\3ask')\n        stream.shutdown(socket.SHUT_WR)\n"
            "        print(stream.recv(10))\n"
            "    except OSError:\n        print(b'')"
        )
        assert (await ran(bench, answers, code), answers.asked) == ("b''\n" * 4, [])

    async def test_a_frame_that_is_too_long_or_cut_ends_its_client_alone(self, bench: Bench) -> None:
        answers = Answers()
        code = (
            "for frame in (b'\\xff\\xff\\xff\\xff', b'\\0\\0\\0\\x09cut'):\n"
            "    stream = tools._connected()\n"
            "    try:\n"
            "        stream.sendall(frame)\n        stream.shutdown(1)\n        print(stream.recv(10))\n"
            "    except OSError:\n        print(b'')\n"
            "try:\n    tools.ask('x' * 9_000_000)\nexcept ValueError as error:\n    print(error)\n"
            "print(tools.ask('still here'))"
        )
        told = "the arguments of a call may have 8000000 bytes at most"
        assert await ran(bench, answers, code) == f"b''\nb''\n{told}\nSTILL HERE\n"
        assert answers.asked == ["still here"]

    async def test_more_clients_than_have_room_are_turned_away_and_the_others_go_on(
        self, bench: Bench
    ) -> None:
        code = (
            "import time\nstreams = [tools._connected() for _ in range(16)]\n"
            "for one in streams:\n    one.sendall(b'\\0\\0\\0\\1a'); one.recv(5)\n"
            "try:\n    print(tools.ask('one too many'))\nexcept RuntimeError as error:\n    print('turned away')\n"
            "streams.pop().close()\ntime.sleep(0.2)\nprint(tools.ask('room'))"
        )
        assert await ran(bench, Answers(), code) == "turned away\nROOM\n"

    async def test_nobody_is_answered_after_the_program_has_ended(self, bench: Bench) -> None:
        answers = Answers()
        code = (
            "import os, sys, time\n"
            "if os.fork() == 0:\n    os.setsid()\n    os.close(1); os.close(2)\n    time.sleep(3)\n    tools.ask('late')\n"
            "print(tools.ask('in time'))"
        )
        assert await ran(bench, answers, code) == "IN TIME\n"
        await bench.space.run("sleep 4", timeout=20)
        assert answers.asked == ["in time"]

    async def test_a_program_is_answered_once_others_of_the_session_have_changed_the_shell(
        self, bench: Bench
    ) -> None:
        async def answer(request: bytes) -> bytes:
            return (await bench.space.run(request.decode(), timeout=20)).text.encode()

        script = Script(
            code="import hermes_tools as tools\nprint(tools.ask('cd /; export B=1; pwd'), end='')"
        )
        done = await bench.space.run_script(script, module=MODULE, answer=answer, timeout=60)
        assert (done.text, bench.space.cwd) == ("/\n", "/")


async def test_an_earlier_process_left_no_folder(tmp_path: Path) -> None:
    from hermes.environments.tool_socket import SocketChannel

    for part in ("confined", "open"):
        (tmp_path / part / "tools-1").mkdir(parents=True)
        (tmp_path / part / "state-1").touch()
    SocketChannel(tmp_path, "")
    assert sorted(one.name for one in tmp_path.glob("*/*")) == ["state-1", "state-1"]
