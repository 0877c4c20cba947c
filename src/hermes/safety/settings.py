"""What users set of questions and of text from outside."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from hermes.config.sections import Amount, doc, section


@section("approvals")
class ApprovalSettings(Struct, frozen=True, kw_only=True):
    """Questions before dangerous actions."""

    mode: Annotated[
        Literal["manual", "smart", "off"],
        doc(
            "manual asks; smart lets a model answer what does little harm; off lets everything but the hard"
            " limits run."
        ),
    ] = "manual"
    ask: Annotated[
        Literal["needed", "always"],
        doc(
            "needed asks of what the sandbox does not hold and no checkpoint brings back; always asks of"
            " every dangerous command."
        ),
    ] = "needed"
    scope: Annotated[
        Literal["meant", "pattern"],
        doc(
            "What a yes for the session or for good covers: meant is that command, program in its folder or"
            " host; pattern is any command that the same rules find, such as all deletions inside."
        ),
    ] = "meant"
    edits: Annotated[
        Literal["free", "ask"],
        doc(
            "Whether write_file and patch may change files of the workspace (free), or each change is shown"
            " and asked about first (ask)."
        ),
    ] = "free"
    timeout: Annotated[
        Amount, doc("Seconds after which a question without an answer is a no; 0 waits for a person.")
    ] = 0.0
    untrusted: Annotated[
        Literal["ask", "strict", "trust"],
        doc(
            "After text from outside was read, ask before sending, publishing or lasting changes, whatever"
            " was allowed; strict counts files of the workspace as from outside, trust asks not."
        ),
    ] = "ask"


@section("checkpoints")
class CheckpointSettings(Struct, frozen=True, kw_only=True):
    """What is saved of a workspace before a turn changes it, and before a command deletes something of it or
    throws history away.
    """

    turns: Annotated[
        bool, doc("Save the workspace before a turn first changes files, for /undo and /rollback.")
    ] = True

    max_megabytes: Annotated[
        int,
        Meta(ge=0),
        doc(
            "Largest workspace, or part of it, that is saved at once; what is larger is not saved, and a"
            " command that would lose it asks. 0 saves nothing."
        ),
    ] = 256
    max_file_megabytes: Annotated[
        int, Meta(ge=0), doc("Largest file that is saved before a turn; larger ones are left out.")
    ] = 10
    max_turns: Annotated[int, Meta(ge=1), doc("Turns of all sessions whose files are kept.")] = 200
    keep_megabytes: Annotated[int, Meta(ge=0), doc("Disk for all that was saved; the oldest goes first.")] = (
        1024
    )
    keep_days: Annotated[float, Meta(ge=0), doc("Days after which what was saved is removed.")] = 7.0


@section("security")
class SecuritySettings(Struct, frozen=True, kw_only=True):
    """Text that nobody here wrote."""

    allow_text: Annotated[
        list[str],
        doc(
            "Hashes of stretches of text that are let through although they are hidden, encoded or forged;"
            " hermes scan names them."
        ),
    ] = []


@section("")
class AllowlistSettings(Struct, frozen=True, kw_only=True):
    """What was allowed for good."""

    command_allowlist: Annotated[
        list[str],
        doc("What never asks, as the answer 'always' saves it; hermes approvals list shows each entry."),
    ] = []
