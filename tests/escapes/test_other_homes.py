"""The keys of other homes of Hermes are not read: those of other profiles, and of homes beside the one in use."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from hermes.environments.local_workspace import LocalWorkspace, open_sandbox
from hermes.types.action import Action, Permit
from tests.escapes.ground import outside_tmp

pytestmark = pytest.mark.anyio


def made(home: Path) -> Path:
    """A home that was used; its file of keys."""
    (home / "scratch").mkdir(parents=True)
    (home / "sessions.db").touch()
    (home / "auth.json").write_text("canary\n")
    return home / "auth.json"


async def test_the_keys_of_other_homes_are_not_read(environ: dict[str, str]) -> None:
    with TemporaryDirectory(prefix="hermes-homes-", dir=outside_tmp()) as folder:
        top = Path(folder).resolve()
        (top / "work").mkdir()
        keys = [
            made(top / "base"),
            made(top / "base" / "profiles" / "one"),
            made(top / "base" / "profiles" / "two"),
            made(top / "user" / "other"),
            made(top / "user" / ".hermes"),
        ]
        (top / "work" / "sessions.db").touch()  # a name alone hides nothing
        (top / "work" / "mine").write_text("mine\n")
        environ = {**environ, "HOME": str(top / "user")}
        sandbox = open_sandbox(
            workspace=top / "work",
            home=top / "user",
            hermes_home=top / "base" / "profiles" / "one",
            scratch=top / "base" / "profiles" / "one" / "scratch" / "s",
            environ=environ,
        )

        async def confined(action: Action) -> Permit:
            return Permit.of(action, confined=True)

        space = LocalWorkspace(
            top / "work",
            authorize=confined,
            environ=environ,
            scratch=top / "base" / "profiles" / "one" / "scratch" / "s",
            sandbox=sandbox,
        )
        done = await space.run(f"cat mine {' '.join(map(str, keys))} 2>/dev/null", timeout=20)
        await space.close()
        assert (done.text, {key.read_text() for key in keys}) == ("mine\n", {"canary\n"})


async def test_a_home_beside_the_one_in_use_is_hidden(environ: dict[str, str]) -> None:
    with TemporaryDirectory(prefix="hermes-homes-", dir=outside_tmp()) as folder:
        top = Path(folder).resolve()
        (top / "work").mkdir()
        made(top / "one"), made(top / "two")
        sandbox = open_sandbox(
            workspace=top / "work",
            home=Path(environ["HOME"]),
            hermes_home=top / "one",
            scratch=top / "one" / "scratch" / "s",
            environ=environ,
        )
        assert sandbox is not None
        hidden = set(sandbox.paths("hide"))
        sandbox.close()
        assert {str(top / "one"), str(top / "two")} <= hidden
