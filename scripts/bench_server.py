"""A chat-completions server that costs next to nothing: the reply's bytes are made once. Arguments: chunks per reply, delay in seconds."""

import asyncio  # noqa: TID251  # the server is no part of the program
import json
import sys


def reply(chunks: int) -> bytes:
    """A whole HTTP answer that streams `chunks` pieces of text."""
    pieces = [{"choices": [{"index": 0, "delta": {"content": "word "}}]} for _ in range(chunks)]
    pieces.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    pieces.append({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": chunks}})
    events = [b"data: " + json.dumps({"id": "x", "object": "chat.completion.chunk", **piece}).encode() + b"\n\n" for piece in pieces]
    events.append(b"data: [DONE]\n\n")
    body = b"".join(b"%x\r\n%b\r\n" % (len(event), event) for event in events) + b"0\r\n\r\n"
    return b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n" + body


async def serve(chunks: int, delay: float) -> None:
    """Answer every POST; GET /stats tells requests and connections. Prints the port."""
    answer, counts = reply(chunks), {"requests": 0, "connections": 0}

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        counts["connections"] += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if head.startswith(b"GET"):
                    counts["connections"] -= 1
                    body = json.dumps(counts).encode()
                    writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
                    break
                length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
                await reader.readexactly(length)
                counts["requests"] += 1
                if delay:
                    await asyncio.sleep(delay)
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, limit=1 << 24)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), float(sys.argv[2])))
