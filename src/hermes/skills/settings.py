"""What users set of skills."""

from typing import Annotated, Literal

from msgspec import Struct, field

from hermes.config.sections import doc, section


@section("skills")
class SkillSettings(Struct, frozen=True, kw_only=True):
    """Procedures kept as files: `skills/` of the home and further folders."""

    external_dirs: Annotated[
        list[str],
        doc(
            "Further folders with skills, such as ~/.claude/skills; they are only read. Of two skills with"
            " one name that of the home counts."
        ),
    ] = field(default_factory=list)
    disabled: Annotated[list[str], doc("Names of skills that are left out.")] = field(default_factory=list)
    self_edit: Annotated[
        Literal["ask", "direct"],
        doc(
            "What the agent may do with skills of its own accord. ask: each change is a diff that you say yes"
            " to, at once or with hermes skills review; direct: skills that it made itself it changes freely."
        ),
    ] = "ask"
    index: Annotated[
        Literal["names and descriptions", "categories", "off"],
        doc(
            "What the prompt tells of skills: each with its description, or only the categories, which the"
            " model then lists; off: nothing."
        ),
    ] = "names and descriptions"
