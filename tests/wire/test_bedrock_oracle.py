"""The official client as a judge: the same conversation gives the same request, the same stream the same message, the same key the same signature."""

import base64
import hashlib
import hmac
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped]  # it ships no types
import pytest
from botocore.config import Config  # type: ignore[import-untyped]  # as above
from msgspec.structs import replace

from hermes.models.auth import aws
from hermes.models.transports.bedrock.transport import BedrockConverse
from hermes.types.error import ConfigError
from hermes.types.message import Assistant
from hermes.types.request import Options, Request
from tests.wire.conversations import CONVERSATIONS, NOTES, PDF, PNG, TOOLS
from tests.wire.recorder import Recorder, recording
from tests.wire.test_bedrock_converse import ENDPOINT, REQUEST, WHOLE, begun, piece, read, told

ACCESS, SECRET, TOKEN = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG", "session-token"
KEYS = json.dumps({"access_key": ACCESS, "secret_key": SECRET, "token": TOKEN, "region": "eu-west-1"})
PICTURE = {"image": {"format": "png", "source": {"bytes": base64.b64decode(PNG)}}}


def use(call_id: str, name: str = "look", **arguments: Any) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": call_id, "name": name, "input": arguments}}


def answer(call_id: str, *content: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"toolResult": {"toolUseId": call_id, "content": list(content), **fields}}


def paper(form: str, name: str, data: str) -> dict[str, Any]:
    return {"document": {"format": form, "name": name, "source": {"bytes": base64.b64decode(data)}}}


THEIRS: dict[str, list[tuple[str, list[dict[str, Any]]]]] = {
    "words": [("user", [{"text": "Hi"}]), ("assistant", [{"text": "Hello, ü 🎉"}]), ("user", [{"text": "<memory>tea</memory>\n\nGo on"}])],
    "tools in parallel, one of which failed, with a steering note": [
        ("user", [{"text": "Look twice"}]),
        ("assistant", [
            {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "sig="}}}, {"reasoningContent": {"redactedContent": base64.b64decode("xyzz")}},
            {"text": "I will."}, use("c1", at="a"), use("c2", "run"),
        ]),
        ("user", [answer("c1", {"text": "seen\n\n[While you were working: hurry]"}), answer("c2", {"text": "no such thing"}, status="error")]),
    ],
    "pictures and documents": [
        ("user", [{"text": "What is this?"}, PICTURE, paper("pdf", "document 1", PDF), paper("txt", "document 2", NOTES)]),
        ("assistant", [use("c1", at="b")]),
        ("user", [answer("c1", PICTURE)]),
    ],
    "an interrupted reply that says nothing": [
        ("user", [{"text": "Look"}]), ("assistant", [use("c1")]), ("user", [answer("c1", {"text": "(no output)"}), {"text": "(no text)"}]),
    ],
    "a compaction, and ids and names of other wires": [
        ("user", [{"text": "Before, there was talk."}]),
        ("assistant", [use("call 1"), use("call 2", "look_at")]),
        ("user", [answer("call 1", {"text": "1"}), answer("call 2", {"text": "2"})]),
        ("assistant", [use("call 3")]),
        ("user", [answer("call 3", {"text": "3"})]),
    ],
    "a beginning without a user": [
        ("user", [{"text": "(What was said before this is not shown.)"}]), ("assistant", [{"text": "I was here first."}]), ("user", [{"text": "Indeed"}]),
    ],
}  # fmt: skip


def client(server: Recorder) -> Any:
    return boto3.client(
        "bedrock-runtime", endpoint_url=server.address, region_name="eu-west-1", aws_access_key_id=ACCESS, aws_secret_access_key=SECRET, aws_session_token=TOKEN,
        config=Config(retries={"max_attempts": 0}, parameter_validation=True),
    )  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[Recorder]:
    with recording(told(piece(0, text="ok")), "application/vnd.amazon.eventstream") as recorder:
        yield recorder


@pytest.fixture(scope="module")
def boto(server: Recorder) -> Iterator[Any]:
    made = client(server)
    yield made
    made.close()


def rendered(name: str, **fields: Any) -> dict[str, Any]:
    request = Request(
        endpoint=ENDPOINT, system="be good", messages=CONVERSATIONS[name], tools=TOOLS, **fields
    )
    tree = json.loads(BedrockConverse().render(request).body)
    assert isinstance(tree, dict)
    return tree


def by_hand(tree: dict[str, Any], name: str) -> dict[str, Any]:
    """Ids and names that were made, numbered by appearance where the conversation has such."""
    for number, block in enumerate(
        (part for message in tree["messages"] for part in message["content"] if "document" in part), 1
    ):
        block["document"]["name"] = f"document {number}"
    if "ids" not in name:
        return tree
    numbers: dict[str, str] = {}
    for message in tree["messages"]:
        for block in message["content"]:
            held = block.get("toolUse") or block.get("toolResult")
            if held:
                held["toolUseId"] = numbers.setdefault(held["toolUseId"], f"call {len(numbers) + 1}")
    return tree


def sent_by_them(boto: Any, server: Recorder, name: str, **fields: Any) -> dict[str, Any]:
    tools = [
        {"toolSpec": {"name": tool["function"]["name"], "description": tool["function"]["description"], "inputSchema": {"json": tool["function"]["parameters"]}} | ({"strict": True} if tool["function"].get("strict") else {})}
        for tool in TOOLS
    ]  # fmt: skip
    messages = [{"role": role, "content": content} for role, content in THEIRS[name]]
    fields = {"inferenceConfig": {"maxTokens": 8000}, "system": [{"text": "be good"}], **fields}
    answered = boto.converse_stream(
        modelId=ENDPOINT.model, messages=messages, toolConfig={"tools": tools}, **fields
    )
    list(answered["stream"])
    tree = json.loads(server.requests[-1][1])
    assert isinstance(tree, dict)
    return tree


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_the_same_conversation_gives_the_same_request(boto: Any, server: Recorder, name: str) -> None:
    assert by_hand(rendered(name), name) == sent_by_them(boto, server, name)


def test_parameters_cache_points_and_the_address_are_those_that_the_client_sends(
    boto: Any, server: Recorder
) -> None:
    point = {"cachePoint": {"type": "default", "ttl": "1h"}}
    system, thinking = [{"text": "be good"}, point], {"thinking": {"type": "enabled", "budget_tokens": 4096}}
    plain = THEIRS["words"]
    THEIRS["marked"] = [(role, [*content, point]) for role, content in plain]
    theirs = sent_by_them(boto, server, "marked", system=system, additionalModelRequestFields=thinking)
    assert rendered("words", options=Options(effort="low", cache="1h")) == theirs
    assert BedrockConverse().render(REQUEST).url.removeprefix("http://h") == server.requests[-1][0]


def ours_and_theirs(data: bytes) -> tuple[Assistant, dict[str, Any]]:
    """Our reading, and the events of the official client put together."""
    with recording(data, "application/vnd.amazon.eventstream") as recorder:
        boto = client(recorder)
        events = list(
            boto.converse_stream(modelId="m", messages=[{"role": "user", "content": [{"text": "x"}]}])[
                "stream"
            ]
        )
        boto.close()
    found: dict[str, Any] = {
        "text": "",
        "thinking": "",
        "signature": "",
        "redacted": b"",
        "calls": {},
        "stop": "",
        "usage": {},
    }
    for event in events:
        start = event.get("contentBlockStart", {})
        delta = event.get("contentBlockDelta", {}).get("delta", {})
        reasoning = delta.get("reasoningContent", {})
        found["text"] += delta.get("text", "")
        found["thinking"] += reasoning.get("text", "")
        found["signature"] += reasoning.get("signature", "")
        found["redacted"] += reasoning.get("redactedContent", b"")
        if "toolUse" in start.get("start", {}):
            tool = start["start"]["toolUse"]
            found["calls"][start["contentBlockIndex"]] = [tool["toolUseId"], tool["name"], ""]
        if "toolUse" in delta:
            found["calls"][event["contentBlockDelta"]["contentBlockIndex"]][2] += delta["toolUse"]["input"]
        found["stop"] += event.get("messageStop", {}).get("stopReason", "")
        found["usage"] |= event.get("metadata", {}).get("usage", {})
    return read(data), found


STREAMS = {
    "all kinds of blocks": WHOLE,
    "only words": told(piece(0, text="One "), piece(0, text="two")),
    "a call cut by length": told(
        begun(0, toolUse={"toolUseId": "t", "name": "run"}),
        piece(0, toolUse={"input": "{}"}),
        stop="max_tokens",
    ),
}
STOPS = {"end_turn": "end", "tool_use": "calls", "max_tokens": "length"}


@pytest.mark.parametrize("name", STREAMS)
def test_the_same_stream_gives_the_same_message(name: str) -> None:
    ours, theirs = ours_and_theirs(STREAMS[name])
    assert ours.text == theirs["text"]
    assert "".join(item.text for item in ours.thinking) == theirs["thinking"]
    assert "".join(item.signature for item in ours.thinking if not item.redacted) == theirs["signature"]
    assert (
        b"".join(base64.b64decode(item.signature) for item in ours.thinking if item.redacted)
        == theirs["redacted"]
    )
    assert [[one.id, one.name, one.raw] for one in ours.calls] == list(theirs["calls"].values())
    assert ours.stop == STOPS[theirs["stop"]]
    cached = (theirs["usage"].get("cacheReadInputTokens", 0), theirs["usage"].get("cacheWriteInputTokens", 0))
    assert (ours.usage.cache_read, ours.usage.cache_write) == cached
    assert (ours.usage.input_tokens, ours.usage.output_tokens) == (
        theirs["usage"]["inputTokens"] + sum(cached),
        theirs["usage"]["outputTokens"],
    )


def checked(path: str, headers: dict[str, str], body: bytes) -> str:
    """The signature that these bytes must carry, computed by the published rules (Signature Version 4)."""
    _, _, rest = headers["authorization"].partition(" ")
    fields = dict(item.split("=", 1) for item in rest.split(", "))
    _, day, region, service, _ = fields["Credential"].split("/")
    signed = fields["SignedHeaders"].split(";")
    lines = [f"{name}:{' '.join(headers[name].split())}" for name in signed]
    twice = path.replace("%", "%25")
    canonical = "\n".join(["POST", twice, "", *lines, "", ";".join(signed), hashlib.sha256(body).hexdigest()])
    scope = f"{day}/{region}/{service}/aws4_request"
    text = "\n".join(
        ["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, hashlib.sha256(canonical.encode()).hexdigest()]
    )
    key = b"AWS4" + SECRET.encode()
    for word in (day, region, service, "aws4_request"):
        key = hmac.new(key, word.encode(), hashlib.sha256).digest()
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    return f"AWS4-HMAC-SHA256 Credential={ACCESS}/{scope}, SignedHeaders={';'.join(signed)}, Signature={signature}"


def test_a_signature_is_the_one_that_the_rules_give_for_the_official_client_and_for_us(
    boto: Any, server: Recorder
) -> None:
    sent_by_them(boto, server, "words")
    path, body = server.requests[-1]
    theirs = server.headers[-1]
    assert checked(path, theirs, body) == theirs["authorization"]
    endpoint = replace(ENDPOINT, base_url=server.address, auth="aws", credential=KEYS)
    wire = aws.sign(BedrockConverse().render(replace(REQUEST, endpoint=endpoint)), endpoint)
    ours = {name.lower(): value for name, value in wire.headers.items()} | {
        "host": server.address.removeprefix("http://")
    }
    assert checked(wire.url.removeprefix(server.address), ours, wire.body) == ours["authorization"]
    assert (ours["x-amz-security-token"], ours["authorization"].split("/")[2:4]) == (
        TOKEN,
        ["eu-west-1", "bedrock"],
    )


@pytest.mark.parametrize(
    ("base_url", "region"),
    [
        ("https://bedrock-runtime.us-west-2.amazonaws.com", "us-west-2"),
        ("https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com", "us-gov-west-1"),
        ("http://127.0.0.1:9", "eu-west-1"),
    ],
)
def test_the_region_is_that_of_the_address_before_that_of_the_key(base_url: str, region: str) -> None:
    endpoint = replace(ENDPOINT, base_url=base_url, auth="aws", credential=KEYS)
    wire = aws.sign(BedrockConverse().render(replace(REQUEST, endpoint=endpoint)), endpoint)
    found = {name.lower(): value for name, value in wire.headers.items()}["authorization"]
    assert found.split("/")[2] == region


@pytest.mark.parametrize("credential", ["not json", "[]", '{"access_key": "a"}', '"text"'])
def test_a_credential_that_is_no_key_pair_is_refused_without_being_shown(credential: str) -> None:
    endpoint = replace(ENDPOINT, auth="aws", credential=credential)
    with pytest.raises(ConfigError, match="not an AWS key pair") as caught:
        aws.sign(BedrockConverse().render(replace(REQUEST, endpoint=endpoint)), endpoint)
    assert credential not in str(caught.value)


def test_neither_key_nor_signature_is_in_a_representation() -> None:
    endpoint = replace(ENDPOINT, auth="aws", credential=KEYS)
    shown = repr(aws.sign(BedrockConverse().render(replace(REQUEST, endpoint=endpoint)), endpoint)) + repr(
        endpoint
    )
    assert not any(word in shown for word in (SECRET, TOKEN, "Signature="))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A machine on which AWS tools know nothing."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    aws._session.cache_clear()
    yield monkeypatch
    aws._session.cache_clear()


def test_without_a_credential_the_keys_of_the_machine_are_used(machine: pytest.MonkeyPatch) -> None:
    machine.setenv("AWS_ACCESS_KEY_ID", ACCESS)
    machine.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    machine.setenv("AWS_DEFAULT_REGION", "ap-south-1")
    endpoint = replace(ENDPOINT, auth="aws", credential="")
    wire = aws.sign(BedrockConverse().render(replace(REQUEST, endpoint=endpoint)), endpoint)
    found = {name.lower(): value for name, value in wire.headers.items()}
    assert found["authorization"].split("/")[2] == "ap-south-1"
    assert (
        checked(wire.url.removeprefix("http://h"), found | {"host": "h"}, wire.body) == found["authorization"]
    )


def test_without_any_keys_the_error_says_what_to_do(machine: pytest.MonkeyPatch) -> None:
    endpoint = replace(ENDPOINT, auth="aws", credential="")
    with pytest.raises(ConfigError, match="run `aws configure`"):
        aws.sign(BedrockConverse().render(replace(REQUEST, endpoint=endpoint)), endpoint)
