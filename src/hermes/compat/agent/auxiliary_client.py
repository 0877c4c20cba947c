"""`agent.auxiliary_client`: a plugin's requests to models, which are those of `ctx.llm`."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from hermes.plugins.aliases import Guest

_FREE = ("temperature", "max_tokens", "timeout", "provider", "model")
Messages = Sequence[Mapping[str, Any]]


def published(guest: Guest) -> dict[str, Callable[..., Any]]:
    """The published functions, for the files of one guest."""

    def call_llm(task: str = "", *, messages: Messages, **wanted: Any) -> SimpleNamespace:
        """The answer to messages, in the form of chat completions."""
        return _completion(_llm(guest).complete(messages, purpose=task, **_chosen(wanted)))

    async def async_call_llm(task: str = "", *, messages: Messages, **wanted: Any) -> SimpleNamespace:
        """As `call_llm`, for async code."""
        answer: Awaitable[Any] = _llm(guest).acomplete(messages, purpose=task, **_chosen(wanted))
        return _completion(await answer)

    return {"call_llm": call_llm, "async_call_llm": async_call_llm}


def extract_content_or_reasoning(response: Any) -> str:
    """The text of an answer."""
    return str(response.choices[0].message.content or "").strip()


def _llm(guest: Guest) -> Any:
    if guest.context is None:
        raise RuntimeError("Only a plugin can ask models: a tool file asks by the ctx of its call.")
    return guest.context.llm


def _chosen(wanted: Mapping[str, Any]) -> dict[str, Any]:
    return {name: wanted[name] for name in _FREE if wanted.get(name) is not None}


def _completion(answer: Any) -> SimpleNamespace:
    message = SimpleNamespace(role="assistant", content=answer.text, reasoning_content=None, tool_calls=None)
    choice = SimpleNamespace(index=0, message=message, finish_reason="stop")
    used = answer.usage
    usage = SimpleNamespace(prompt_tokens=used["input_tokens"], completion_tokens=used["output_tokens"])
    return SimpleNamespace(choices=[choice], model=answer.model, usage=usage)
