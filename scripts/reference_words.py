"""Code as words of a page: docstrings, signatures, fields and types, read from the source."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

_PLAIN = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    NoneType: "null",
    Any: "anything",
}
_WIDE = 96


def prose(text: str) -> str:
    """A docstring as Markdown: one line for each paragraph, nothing in it read as markup but code."""
    return "\n\n".join(_escaped(" ".join(part.split())) for part in re.split(r"\n\s*\n", text.strip()))


def doc(thing: object) -> str:
    """What its docstring says."""
    return prose(inspect.getdoc(thing) or "")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown, or nothing where there is no row."""
    found = [*rows]
    if not found:
        return ""
    lines = [head, ["---"] * len(head), *found]
    return "\n".join(f"| {' | '.join(one)} |" for one in lines) + "\n"


def code(text: str) -> str:
    """Text in code, that a cell of a table can hold: in one a bar ends the cell, in backticks too."""
    return f"<code>{escape(text).replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`"


def kind(of: Any) -> str:
    """A type as a person calls it."""
    origin, parts = get_origin(of), get_args(of)
    if origin is Annotated:
        metas = [one for one in parts[1:] if isinstance(one, msgspec.Meta)]
        return kind(parts[0]) + "".join(_bounds(one) for one in metas)
    if origin is Literal:
        return " or ".join(f"`{part}`" if part else "empty" for part in parts)
    if origin in {Union, UnionType}:
        return " or ".join(kind(part) for part in parts)
    if origin is list:
        return f"list of {_many(parts[0])}"
    if origin is dict:
        return f"table of {_many(parts[1])}"
    return _PLAIN.get(of) or f"[{of.__name__}](#{of.__name__.lower()})"


def value(default: object) -> str:
    """A default as the settings file would have it."""
    return "empty" if default in ("", [], {}) else f"`{msgspec.json.encode(default).decode()}`"


def fields(of: type) -> str:
    """The fields of a struct or typed dictionary, with type, default and what is said of them."""
    rows = [_field(one) for one in _annotated(of) if not one.target.id.startswith("_")]
    told = any(row[-1] for row in rows)
    return table(("field", "type", "default", "what it is")[: 3 + told], (row[: 3 + told] for row in rows))


def _field(one: Any) -> tuple[str, str, str, str]:
    kind, told = one.annotation, ""
    if isinstance(kind, ast.Subscript) and ast.unparse(kind.value) == "Annotated":
        kind, *more = kind.slice.elts  # type: ignore[attr-defined]  # what Annotated takes is a tuple
        docs = [each.args[0] for each in more if ast.unparse(each.func) == "doc"]
        told = "".join(str(ast.literal_eval(each)) for each in docs)
    return f"`{one.target.id}`", _code(kind), _code(one.value) if one.value else "", told


def members(of: type) -> Iterator[str]:
    """The public methods and properties of a class: signature, then what is said of them."""
    for node in _body(of):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            yield f"{signature(node)}\n\n{prose(ast.get_docstring(node) or '')}\n"


def function(of: Any) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """The source of a function."""
    made = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(of)))).body[0]
    assert isinstance(made, ast.FunctionDef | ast.AsyncFunctionDef)
    return made


def signature(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str = "") -> str:
    """The head of a function as a block of code, one parameter a line where it would be too long."""
    marks = {ast.unparse(one) for one in node.decorator_list}
    arguments = [one for one in _arguments(node.args) if one != "self"]
    gives = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    before = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    head = f"{before} {name or node.name}({', '.join(arguments)}){gives}"
    if "property" in marks:
        head = f"{name or node.name}: {ast.unparse(node.returns) if node.returns else 'Any'}"
    elif len(head) > _WIDE:
        inner = "".join(f"    {one},\n" for one in arguments)
        head = f"{before} {name or node.name}(\n{inner}){gives}"
    return f"```py\n{head}\n```"


def made_with(of: type) -> str:
    """How an object is made, where its class says that."""
    return next(
        (
            signature(node, of.__name__).replace("def ", "", 1).replace(" -> None", "")
            for node in _body(of)
            if isinstance(node, ast.FunctionDef) and node.name == "__init__"
        ),
        "",
    )


def _arguments(given: ast.arguments) -> Iterator[str]:
    """The parameters in order, each with type and default, and the marks between them."""
    plain = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(plain) - len(given.defaults)) + [*given.defaults]
    yield from (_argument(one, default) for one, default in zip(plain, defaults, strict=True))
    if given.vararg:
        yield f"*{_argument(given.vararg)}"
    elif given.kwonlyargs:
        yield "*"
    yield from map(_argument, given.kwonlyargs, given.kw_defaults)
    if given.kwarg:
        yield f"**{_argument(given.kwarg)}"


def _argument(one: ast.arg, default: ast.expr | None = None) -> str:
    typed = f"{one.arg}: {ast.unparse(one.annotation)}" if one.annotation else one.arg
    return f"{typed} = {ast.unparse(default)}" if default else typed


def _body(of: type) -> list[ast.stmt]:
    made = ast.parse(textwrap.dedent(inspect.getsource(of))).body[0]
    assert isinstance(made, ast.ClassDef)
    return made.body


def _annotated(of: type) -> Iterator[Any]:
    for node in _body(of):
        if isinstance(node, ast.AnnAssign) and not ast.unparse(node.annotation).startswith("ClassVar"):
            yield node


def _code(node: ast.expr) -> str:
    """Source in code; unions are told in words."""
    return "`" + ast.unparse(node).replace(" | ", "` or `") + "`"


def _many(of: Any) -> str:
    words = kind(of)
    return words if words.startswith(("[", "`")) else f"{words}s".replace("texts", "text")


def _bounds(meta: msgspec.Meta) -> str:
    told = (("at least", meta.ge), ("more than", meta.gt), ("at most", meta.le), ("less than", meta.lt))
    return "".join(f", {words} {bound:g}" for words, bound in told if bound is not None)


def _escaped(text: str) -> str:
    """What stands outside of code, with the signs of Markdown as themselves."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([*<|])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)
