"""What users set of skills."""

from typing import Annotated, Literal

from msgspec import Struct, field

from hermes.config.sections import Amount, doc, section


class HubSettings(Struct, frozen=True, kw_only=True):
    """Where skills of others are searched and fetched, besides the taps."""

    github: Annotated[str, doc("Where owner/repository is, such as a GitHub server of your company.")] = (
        "https://github.com"
    )
    clawhub: Annotated[str, doc("Address of ClawHub, or of a registry like it; empty leaves it out.")] = (
        "https://clawhub.ai"
    )
    lobehub: Annotated[str, doc("Address of LobeHub's market; empty leaves it out.")] = (
        "https://market.lobehub.com"
    )
    sites: Annotated[
        list[str],
        doc("Addresses of sites that publish skills at /.well-known/agent-skills or /.well-known/skills."),
    ] = field(default_factory=list)
    marketplaces: Annotated[
        list[str], doc("Repositories with a marketplace of Claude Code whose plugins are searched.")
    ] = field(default_factory=lambda: ["anthropics/claude-plugins-official"])
    search_timeout: Annotated[
        Amount, doc("Seconds that each place has for a search; 0 is no limit but that of git, 120 s.")
    ] = 20.0


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
    hubs: Annotated[HubSettings, doc("Places of others.")] = HubSettings()
