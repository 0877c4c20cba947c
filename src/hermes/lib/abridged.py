"""Structs that keep some of their fields out of every representation."""

from typing import Any, ClassVar


class Abridged:
    """Mixed into a struct, leaves out of its representation, plain or on a screen, the fields that the class
    names in `unshown`: credentials, and what is too long to read.
    """

    __slots__ = ()

    unshown: ClassVar[tuple[str, ...]] = ()
    __struct_fields__: ClassVar[tuple[str, ...]]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({shown})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [(name, getattr(self, name)) for name in self.__struct_fields__ if name not in self.unshown]
