"""What users set of turns, of children, of what they may spend and of what is kept of sessions."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from hermes.config.sections import Amount, doc, section
from hermes.models.settings import Effort


@section("agent")
class AgentSettings(Struct, frozen=True, kw_only=True):
    """How far a turn goes."""

    prompt: Annotated[
        Literal["auto", "full"],
        doc(
            "auto: a model of this machine, or with a window of up to 16,384 tokens, gets a short prompt and"
            " few tools, without notes of projects, SOUL.md and memory; full: it gets what all others get."
        ),
    ] = "auto"
    max_turns: Annotated[
        int,
        Meta(ge=1),
        doc("Model calls one turn may make before it must sum up, which takes one or two more."),
    ] = 90
    clarify_timeout: Annotated[
        Amount, doc("Seconds that a question of the model waits for a person; 0: however long it takes.")
    ] = 0.0
    clarify_policy: Annotated[
        Literal["decide", "first"],
        doc(
            "What answers a question of the model where nobody does: decide (it is told to decide by itself)"
            " or first (the first choice, where there are choices)."
        ),
    ] = "decide"
    auto_continue: Annotated[
        bool,
        doc(
            "Go on by itself with a turn that was cut off, when its session is opened in an interactive app."
        ),
    ] = False
    long_seconds: Annotated[
        Amount,
        doc(
            "Seconds after which a notice tells what a turn still does; the next ones come after twice as"
            " long, and so on. 0: none."
        ),
    ] = 60.0
    disabled_toolsets: Annotated[list[str], doc("Toolsets that are never offered.")] = []


@section("goals")
class GoalSettings(Struct, frozen=True, kw_only=True):
    """Goals that are pursued from turn to turn."""

    max_turns: Annotated[
        int,
        Meta(ge=1, le=1000),
        doc("Turns that a goal may take before a person has to say that it goes on."),
    ] = 20


@section("delegation")
class DelegationSettings(Struct, frozen=True, kw_only=True):
    """Children that a session hands parts of its work to."""

    model: Annotated[str, doc("Model of children; empty takes that of the session which starts them.")] = ""
    provider: Annotated[str, doc("Provider of that model, where its name does not say it.")] = ""
    base_url: Annotated[str, doc("Address of the server for children; empty takes the provider's.")] = ""
    reasoning_effort: Annotated[Effort, doc("How hard children think; empty is as model.effort.")] = ""
    max_iterations: Annotated[
        int, Meta(ge=1), doc("Model calls that one child may make, whatever agent.max_turns is.")
    ] = 50
    max_concurrent_children: Annotated[
        int, Meta(ge=1, le=64), doc("Children of one session that run at the same time; others wait.")
    ] = 3
    max_spawn_depth: Annotated[
        int, Meta(ge=1, le=3), doc("How deep children may have children: 1 is not at all.")
    ] = 1
    child_timeout: Annotated[
        float, Meta(ge=0), doc("Seconds after which a child is stopped; 0 is never.")
    ] = 0.0

    @property
    def wanted_model(self) -> str:
        """The model as a session is opened with it; empty where it is the parent's."""
        return f"{self.provider}/{self.model}" if self.provider and self.model else self.model


@section("budget")
class BudgetSettings(Struct, frozen=True, kw_only=True):
    """What may be spent; 0 means no limit. No model call starts beyond it."""

    turn_tokens: Annotated[int, Meta(ge=0), doc("Tokens that one turn may use.")] = 0
    turn_cost: Annotated[Amount, doc("US dollars that one turn may cost.")] = 0.0
    turn_seconds: Annotated[Amount, doc("Seconds that one turn may take.")] = 0.0
    session_tokens: Annotated[int, Meta(ge=0), doc("Tokens that one session may use.")] = 0
    session_cost: Annotated[Amount, doc("US dollars that one session may cost.")] = 0.0
    day_tokens: Annotated[int, Meta(ge=0), doc("Tokens that all sessions of a day may use.")] = 0
    day_cost: Annotated[Amount, doc("US dollars that all sessions of a day may cost.")] = 0.0
    unknown_price_input: Annotated[
        Amount,
        doc(
            "US dollars for a million input tokens that a model without a known price counts as, in budgets."
        ),
    ] = 5.0
    unknown_price_output: Annotated[
        Amount,
        doc(
            "US dollars for a million output tokens that a model without a known price counts as, in budgets."
        ),
    ] = 25.0


@section("trajectories")
class TrajectorySettings(Struct, frozen=True, kw_only=True):
    """Conversations as training examples."""

    save: Annotated[bool, doc("Add each session to the trajectories of the home when it is closed.")] = False
