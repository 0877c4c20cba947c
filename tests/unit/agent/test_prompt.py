"""The system prompt: sections in order, each written once for a session."""

from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import pytest

from hermes.agent.prompt import Place, SystemPrompt
from hermes.agent.spec import SessionOptions
from hermes.runtime import open_runtime
from hermes.testing import ScriptedModel

pytestmark = pytest.mark.anyio
PLACE = Place(
    cwd="/w", platform="Linux x86_64", branch="main", confinement="Confined.", date="Sunday, 22 November 2026"
)
AROUND = """Working directory: /w (git branch main)
System: Linux x86_64
Confined.
Session started: Sunday, 22 November 2026"""


def identity() -> str:
    return (files("hermes") / "data" / "prompts" / "identity.md").read_text(encoding="utf-8").strip()


@dataclass
class Section:
    name: str
    order: int
    words: str
    asked: list[str] = field(default_factory=list)

    async def text(self, place: Place) -> str:
        self.asked.append(place.cwd)
        return self.words


async def test_the_built_in_sections_make_the_prompt_as_it_was() -> None:
    assert await SystemPrompt().text(PLACE) == f"{identity()}\n\n{AROUND}"
    bare = await SystemPrompt().text(Place(cwd="/w", platform="Linux"))
    assert bare == f"{identity()}\n\nWorking directory: /w\nSystem: Linux"


async def test_sections_stand_in_their_order_and_empty_ones_leave_no_trace() -> None:
    prompt = SystemPrompt()
    for one in (
        Section("skills", 500, "Skills."),
        Section("memory", 400, "Memory."),
        Section("none", 450, ""),
    ):
        prompt.register(one)
    assert await prompt.text(PLACE) == f"{identity()}\n\nMemory.\n\nSkills.\n\n{AROUND}"


def test_a_name_is_taken_once() -> None:
    with pytest.raises(
        ValueError, match="There is a prompt section 'identity' already; give it another name"
    ):
        SystemPrompt().register(Section("identity", 1, ""))


async def test_a_section_is_asked_once_for_a_session_and_not_at_its_resumption(
    environ: dict[str, str], tmp_path: Path
) -> None:
    options = SessionOptions(base_url="http://models.example/v1", model="gpt-4.1", toolsets=(), cwd=tmp_path)
    async with open_runtime(environ=environ, http=ScriptedModel("hi").http()) as runtime:
        section = Section("memory", 400, "They like tea.")
        runtime.prompt.register(section)
        session = await runtime.session(options)
        assert session.system.startswith(f"{identity()}\n\nThey like tea.\n\nWorking directory: {tmp_path}")
        await session.send("hello")
        await session.close()
        again = await runtime.session(
            SessionOptions(resume=session.id, base_url="http://models.example/v1", model="gpt-4.1")
        )
        assert (again.system, section.asked) == (session.system, [str(tmp_path)])
        await again.close()
