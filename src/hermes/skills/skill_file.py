"""SKILL.md: front matter in YAML between two lines of dashes, then the procedure in Markdown.

The keys are those of agentskills.io, and those that skills for Hermes have below `metadata.hermes`. Reading
is lenient, for skills come from everywhere; what Hermes writes itself keeps the rules of `check`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from hermes.lib.plain_yaml import PlainYamlError, plain_yaml
from hermes.lib.small_files import read_small
from hermes.lib.text import clip, strip_escapes
from hermes.types.error import SkillError

FILE: Final = "SKILL.md"
LONGEST: Final = 100_000
"""Characters of a SKILL.md."""
LONGEST_DESCRIPTION: Final = 1024
_VARIABLE: Final = re.compile(r"[A-Za-z_]\w{0,127}", re.ASCII)
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_FRONT: Final = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_PLAIN: Final = re.compile(r"^(\w+: +)([^\s\"'|>\[{&*!#][^\n]*)$", re.MULTILINE)
_MOST_ITEMS: Final = 100
_MOST_NODES: Final = 1_000


class Conditions(Struct, frozen=True, kw_only=True):
    """When a skill is of use: on these systems (`linux`, `macos`, `windows`), where these tools and toolsets
    are on offer, or, as a fallback, where those are not. Empty means always.
    """

    platforms: tuple[str, ...] = ()
    requires_tools: tuple[str, ...] = ()
    requires_toolsets: tuple[str, ...] = ()
    fallback_for_tools: tuple[str, ...] = ()
    fallback_for_toolsets: tuple[str, ...] = ()


class SkillVariable(Struct, frozen=True, kw_only=True):
    """An environment variable that a skill needs; `prompt` asks for it, `help` says where to get it."""

    name: str
    prompt: str = ""
    help: str = ""


class Skill(Struct, frozen=True, kw_only=True):
    """What the front matter says of a skill, and the folder that it lies in.

    `variables` are the environment variables that it needs, `programs` the names of programs,
    `credential_files` the paths of files.
    """

    name: str
    description: str
    folder: str
    category: str = ""
    tags: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    conditions: Conditions = Conditions()
    variables: tuple[SkillVariable, ...] = ()
    programs: tuple[str, ...] = ()
    credential_files: tuple[str, ...] = ()


def load(folder: Path, category: str = "") -> Skill:
    """The skill in a folder; SkillError where its front matter cannot be read, OSError where its SKILL.md is
    no regular file, or too large.
    """
    text = read_small(folder / FILE, LONGEST * 4).decode("utf-8", "replace")
    return parse(text, folder, category)


def parse(text: str, folder: Path, category: str = "") -> Skill:
    """The skill of a SKILL.md with this text; SkillError where its front matter cannot be read."""
    front, body = split(text)
    extra = _table(_table(front.get("metadata")).get("hermes"))
    needs = _table(front.get("prerequisites"))
    return Skill(
        name=_name(_line(front.get("name")), folder),
        description=_line(front.get("description")) or _first_line(body),
        folder=str(folder),
        category=category or _line(extra.get("category")),
        tags=_words(extra.get("tags") or front.get("tags")),
        related=_words(extra.get("related_skills")),
        conditions=Conditions(
            platforms=_words(front.get("platforms")),
            requires_tools=_words(extra.get("requires_tools")),
            requires_toolsets=_words(extra.get("requires_toolsets")),
            fallback_for_tools=_words(extra.get("fallback_for_tools")),
            fallback_for_toolsets=_words(extra.get("fallback_for_toolsets")),
        ),
        variables=_variables(front.get("required_environment_variables"), needs.get("env_vars")),
        programs=_words(needs.get("commands")),
        credential_files=tuple(_told_by(front.get("required_credential_files"), "path")),
    )


def split(text: str) -> tuple[Mapping[str, Any], str]:
    """Front matter and body; a text that begins with no dashes is all body."""
    found = _FRONT.match(text)
    if found is None:
        if text.lstrip("\ufeff").startswith("---"):
            raise SkillError("The front matter has no end: a line --- closes it.")
        return {}, text
    return _front(found[1]), text[found.end() :]


def check(text: str, name: str) -> None:
    """SkillError unless a SKILL.md with this text is one that Hermes may write for a skill of this name."""
    check_name(name)
    if len(text) > LONGEST:
        raise SkillError(f"SKILL.md has {len(text)} characters; {LONGEST} are the most.")
    front, body = split(text)
    if not front:
        raise SkillError("SKILL.md begins with front matter: ---, name and description, ---.")
    if front.get("name") != name:
        raise SkillError(f"The front matter names the skill {front.get('name')!r}; it is {name!r}.")
    description = front.get("description")
    if not isinstance(description, str) or not description.strip():
        raise SkillError("The front matter needs a description: what the skill does and when it is of use.")
    if len(description) > LONGEST_DESCRIPTION:
        raise SkillError(
            f"The description has {len(description)} characters; {LONGEST_DESCRIPTION} are the most."
        )
    parse(text, Path(name))
    if not body.strip():
        raise SkillError("There is nothing below the front matter; the procedure belongs there.")


def check_name(name: str) -> None:
    """SkillError unless this is a name for a skill or a category."""
    if not _NAME.fullmatch(name):
        raise SkillError(
            f"{clip(name, 80)!r} is no name of a skill: lower-case letters, digits, ., _ and -, 64 at most,"
            " a letter or digit first."
        )


def _front(text: str) -> Mapping[str, Any]:
    """The table of the front matter, every value in it a text. Many are written with colons in plain texts,
    which other agents take; such values are read as if they were quoted.
    """
    try:
        value = _yaml(text)
    except SkillError:
        quoted = _PLAIN.sub(lambda found: found[1] + json.dumps(found[2], ensure_ascii=False), text)
        if quoted == text:
            raise
        value = _yaml(quoted)
    if value != "" and not isinstance(value, dict):
        raise SkillError("The front matter is no table of names and values.")
    return value or {}


def _yaml(text: str) -> Any:
    try:
        return plain_yaml(text, most=_MOST_NODES, first_line=2)
    except PlainYamlError as error:
        raise SkillError(f"The front matter {error}.") from error


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _line(value: object) -> str:
    """A text in one line, without what a terminal would act on and what nobody sees."""
    words = strip_escapes(value).split() if isinstance(value, str) else ()
    return " ".join("".join(filter(str.isprintable, word)) for word in words)


def _first_line(body: str) -> str:
    lines = (line.strip() for line in body.splitlines())
    return clip(_line(next((line for line in lines if line and line[0] not in "#`<"), "")), 200)


def _words(value: object) -> tuple[str, ...]:
    """A list of words, which some write as one text with commas."""
    items = re.split(r"[,\s]+", value) if isinstance(value, str) else value
    if not isinstance(items, Sequence):
        return ()
    return tuple(filter(None, map(_line, items[:_MOST_ITEMS])))


def _name(given: str, folder: Path) -> str:
    """The name that a skill has: its own, or that of its folder where that is none; SkillError for
    neither.
    """
    name = next(filter(_NAME.fullmatch, (given, folder.name.lower())), "")
    if not name:
        shown = clip(given or _line(folder.name), 80)
        raise SkillError(f"{shown!r} is no name of a skill, nor is its folder's.")
    return name


def _variables(*lists: object) -> tuple[SkillVariable, ...]:
    """Environment variables, each once; what is no name of one is left out."""
    found: dict[str, SkillVariable] = {}
    for name, table in (one for value in lists for one in _told_by(value, "name").items()):
        if _VARIABLE.fullmatch(name) and name not in found:
            asked, told = clip(_line(table.get("prompt")), 200), clip(_line(table.get("help")), 300)
            found[name] = SkillVariable(name=name, prompt=asked, help=told)
    return tuple(found.values())


def _told_by(value: object, key: str) -> dict[str, Mapping[str, Any]]:
    """The items of a list, which stand by themselves or as the `key` of a table, with what that has
    besides.
    """
    items = value[:_MOST_ITEMS] if isinstance(value, list) else ()
    tables = [item if isinstance(item, Mapping) else {key: item} for item in items]
    return {name: table for table in tables if (name := _line(table.get(key)))}
