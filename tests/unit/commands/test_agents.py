"""The command /agents, as a person at any app meets it."""

from pathlib import Path

import anyio
import pytest

from hermes.testing import call, say
from tests.scenarios.family import FamilyModel, reports
from tests.scenarios.test_child_ends import Held, parent
from tests.scenarios.test_file_commands import Person

pytestmark = pytest.mark.anyio


async def test_children_are_listed_as_a_tree_and_a_branch_is_cancelled_with_all_below_it(
    environ: dict[str, str], tmp_path: Path
) -> None:
    held = Held()
    model = FamilyModel(
        {
            "go": [call("delegate_task", {"goal": "lead", "role": "orchestrator"}), say("ok")],
            "lead": [call("delegate_task", {"goal": "follow"}), say("never")],
            "follow": [call("hold", {}), say("never")],
        }
    )
    async with parent(environ, tmp_path, model, functions=(held.tool,), delegation__max_spawn_depth=2) as (
        _,
        session,
    ):
        person = Person(session)
        assert await person.types("/agents") == "No child is at work."
        async with anyio.create_task_group() as group:
            group.start_soon(session.send, "go")
            await held.began.wait()
            first, second = (await person.types("/agents")).splitlines()[:2]
            assert first.startswith("- **1** lead: delegate_task follow · ")
            assert second.startswith("  - **1.1** follow: hold · ")
            assert await person.types("/agents stop 7") == (
                "error: There is no child '7'; /agents lists those at work."
            )
            assert await person.types("/agents stop 1") == "Cancelled: lead"
    assert [one["status"] for one in reports(session)] == ["cancelled"]


async def test_new_children_are_paused_and_let_in_again(environ: dict[str, str], tmp_path: Path) -> None:
    async with parent(environ, tmp_path, FamilyModel({})) as (_, session):
        person = Person(session)
        assert await person.types("/agents pause") == (
            "New children are paused, and those that wait for a place."
        )
        assert (await person.types("/agents")).startswith("New children are paused; `/agents resume`")
        assert await person.types("/agents resume") == "New children may begin."
        assert (await person.types("/agents dance")).startswith("error: /agents takes nothing")
        assert not session.children.are_paused
