"""YAML that strangers wrote: texts, lists and tables of them, as long as there are few."""

from typing import Any, Final

from hermes.lib.lazy import import_object

LONGEST: Final = 16_000
"""Characters of such a text."""
_MOST_BRACKETS: Final = 200  # the parser takes longer and longer for what lies deeper
_NULL: Final = "tag:yaml.org,2002:null"


class PlainYamlError(ValueError):
    """A text that cannot be read; the words follow the name of what it is."""


def plain_yaml(text: str, *, most: int, first_line: int = 1) -> Any:
    """What a text says, every value in it a text and at most so many of them. Nothing is made of what a tag
    asks for, and what refers to itself ends.
    """
    if len(text) > LONGEST or text.count("[") + text.count("{") > _MOST_BRACKETS:
        raise PlainYamlError(f"is too long: {LONGEST:,} characters are the most")
    try:
        node = import_object("ruamel.yaml:YAML")(typ="safe", pure=True).compose(text)
        return _plain(node, [most], most) if node is not None else ""
    except RecursionError as error:
        raise PlainYamlError("refers to itself, or lies too deep") from error
    except PlainYamlError:
        raise
    except (import_object("ruamel.yaml.error:YAMLError"), ValueError) as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + first_line}" if where is not None else ""
        problem = getattr(error, "problem", None) or type(error).__name__
        raise PlainYamlError(f"is no YAML{line}: {problem}") from error


def _plain(node: Any, left: list[int], most: int) -> Any:
    """What a node says; a reference counts as often as it is followed."""
    left[0] -= 1
    if left[0] < 0:
        raise PlainYamlError(f"has more than {most} values")
    if isinstance(node.value, str):
        return "" if node.tag == _NULL else node.value
    if node.id == "sequence":
        return [_plain(one, left, most) for one in node.value]
    return {str(_plain(key, left, most)): _plain(one, left, most) for key, one in node.value}
