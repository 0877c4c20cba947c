"""A model server that costs next to nothing: the reply's bytes are made once. Arguments: chunks per reply,
delay in seconds, wire.
"""

import asyncio  # the server is no part of the program
import json
import struct
import sys
import zlib


def reply(chunks: int, wire: str) -> bytes:
    """A whole HTTP answer that streams `chunks` pieces of text."""
    events = WIRES[wire](chunks)
    body = b"".join(b"%x\r\n%b\r\n" % (len(event), event) for event in events) + b"0\r\n\r\n"
    kind = b"application/vnd.amazon.eventstream" if wire == "bedrock_converse" else b"text/event-stream"
    return b"HTTP/1.1 200 OK\r\ncontent-type: " + kind + b"\r\ntransfer-encoding: chunked\r\n\r\n" + body


def chat_completions(chunks: int) -> list[bytes]:
    """Pieces of a chat completion."""
    pieces: list[dict[str, object]] = [
        {"choices": [{"index": 0, "delta": {"content": "word "}}]} for _ in range(chunks)
    ]
    pieces.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    pieces.append({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": chunks}})
    events = [
        b"data: " + json.dumps({"id": "x", "object": "chat.completion.chunk", **piece}).encode() + b"\n\n"
        for piece in pieces
    ]
    return [*events, b"data: [DONE]\n\n"]


def anthropic_messages(chunks: int) -> list[bytes]:
    """Events of the Messages API."""
    pieces: list[dict[str, object]] = [
        {
            "type": "message_start",
            "message": {
                "id": "x",
                "type": "message",
                "role": "assistant",
                "content": [],
                "usage": {"input_tokens": 10, "output_tokens": 1},
            },
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *[{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "word "}}]
        * chunks,
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": chunks}},
        {"type": "message_stop"},
    ]
    return [_named(piece) for piece in pieces]


def codex_responses(chunks: int) -> list[bytes]:
    """Events of the Responses API."""
    text = "word " * chunks
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]}
    usage = {"input_tokens": 10, "output_tokens": chunks, "total_tokens": 10 + chunks}
    pieces: list[dict[str, object]] = [
        {"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**item, "content": [], "status": "in_progress"},
        },
        {
            "type": "response.content_part.added",
            "output_index": 0,
            "content_index": 0,
            "item_id": "m",
            "part": {**part, "text": ""},
        },
        *[
            {
                "type": "response.output_text.delta",
                "output_index": 0,
                "content_index": 0,
                "item_id": "m",
                "delta": "word ",
            }
        ]
        * chunks,
        {
            "type": "response.output_text.done",
            "output_index": 0,
            "content_index": 0,
            "item_id": "m",
            "text": text,
        },
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {
            "type": "response.completed",
            "response": {"id": "r", "status": "completed", "output": [item], "usage": usage},
        },
    ]
    return [_named(piece) for piece in pieces]


def bedrock_converse(chunks: int) -> list[bytes]:
    """Frames of a Converse stream."""
    pieces: list[tuple[str, dict[str, object]]] = [
        ("messageStart", {"role": "assistant"}),
        *[("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "word "}})] * chunks,
        ("contentBlockStop", {"contentBlockIndex": 0}),
        ("messageStop", {"stopReason": "end_turn"}),
        ("metadata", {"usage": {"inputTokens": 10, "outputTokens": chunks, "totalTokens": 10 + chunks}}),
    ]
    return [_frame(name, payload) for name, payload in pieces]


def _named(piece: dict[str, object]) -> bytes:
    return f"event: {piece['type']}\ndata: {json.dumps(piece)}\n\n".encode()


def _frame(name: str, payload: dict[str, object]) -> bytes:
    """One frame of application/vnd.amazon.eventstream: lengths, checksum, headers, payload, checksum."""
    named = {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(
        bytes([len(key)]) + key.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for key, value in named.items()
    )
    data = json.dumps(payload).encode()
    start = struct.pack(">II", 16 + len(headers) + len(data), len(headers))
    frame = start + struct.pack(">I", zlib.crc32(start)) + headers + data
    return frame + struct.pack(">I", zlib.crc32(frame))


WIRES = {
    one.__name__: one for one in (chat_completions, anthropic_messages, codex_responses, bedrock_converse)
}


async def serve(chunks: int, delay: float, wire: str) -> None:
    """Answer every POST; GET /stats tells requests and connections. Prints the port."""
    answer, counts = reply(chunks, wire), {"requests": 0, "connections": 0}

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        counts["connections"] += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if head.startswith(b"GET"):
                    counts["connections"] -= 1
                    body = json.dumps(counts).encode()
                    writer.write(
                        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%b"
                        % (len(body), body)
                    )
                    break
                length = next(
                    int(line[15:])
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length:")
                )
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

    server = await asyncio.start_server(handle, "127.0.0.1", 0, limit=1 << 24, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]))
