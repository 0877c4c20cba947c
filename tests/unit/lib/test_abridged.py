from io import StringIO
from typing import ClassVar

import pytest
from msgspec import Struct
from rich.console import Console
from rich.pretty import Pretty

from hermes.agent.services import RuntimeServices
from hermes.environments.base import Job
from hermes.lib.abridged import Abridged
from hermes.types.credential import Credential
from hermes.types.request import Endpoint


def shown(value: object) -> str:
    """Everything that a value is shown as: alone, in a text, inside another value, on a screen."""
    screen = Console(file=StringIO(), width=300)
    with screen.capture() as written:
        screen.print(Pretty(value))
    return repr(value) + f"{value} {[value]}" + written.get()


def test_a_field_that_is_not_shown_is_in_no_representation() -> None:
    class Key(Abridged, Struct, frozen=True):
        unshown: ClassVar = ("secret",)

        name: str
        secret: str

    class Holder(Struct):
        key: Key

    assert repr(Key("a", "sekret")) == "Key(name='a')"
    assert "sekret" not in shown(Key("a", "sekret")) + shown(Holder(Key("a", "sekret")))


@pytest.mark.parametrize(
    "value",
    [
        Credential(id="a", secret="sekret", refresh_token="sekret"),
        Endpoint(provider="p", base_url="http://h", model="m", credential="sekret", headers={"k": "sekret"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_no_credential_is_in_a_representation(value: object) -> None:
    assert "sekret" not in shown(value)


def test_what_is_not_shown_is_a_field() -> None:
    classes = Abridged.__subclasses__()
    assert {RuntimeServices, Job, Credential, Endpoint} <= set(classes)
    assert [(one, name) for one in classes for name in one.unshown if name not in one.__struct_fields__] == []
