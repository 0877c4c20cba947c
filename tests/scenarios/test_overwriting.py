"""write_file with overwrite false replaces no file that the session has not handled: what is in it would be lost unseen."""

from pathlib import Path

import pytest

from hermes.testing import ScriptedModel, call, say
from hermes.types.message import ToolResult

from .test_execute_code import opened

pytestmark = pytest.mark.anyio

OVER = call("write_file", {"path": "tools.py", "content": "def h(): ...\n", "overwrite": False})
READ = call("read_file", {"path": "tools.py"})
MAKE = call("write_file", {"path": "new.py", "content": "x = 1\n", "overwrite": False})
AGAIN = call("write_file", {"path": "new.py", "content": "x = 2\n", "overwrite": False})


async def test_a_file_is_replaced_once_it_was_read_or_written_and_not_before(
    environ: dict[str, str], tmp_path: Path
) -> None:
    work = tmp_path / "project"
    work.mkdir()
    (work / "tools.py").write_text("def f(): ...\n")
    model = ScriptedModel(OVER, OVER, READ, OVER, MAKE, AGAIN, say("done"))
    async with opened(environ, work, model, {}, toolsets=("file",), attended=False) as session:
        await session.send("go")
        failed = [one.failed for one in session.log if isinstance(one, ToolResult)]
        refused = next(one for one in session.log if isinstance(one, ToolResult))
    assert failed == [True, True, False, False, False, False]
    assert "tools.py is there already; read it, and change what is to change with patch" in refused.content
    assert ((work / "tools.py").read_text(), (work / "new.py").read_text()) == ("def h(): ...\n", "x = 2\n")
