"""What may be the id of a session: folders and keys are named after it, so it is never a path."""

import re

_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")
_ISSUED = re.compile(r"[0-9]{8}_[0-9]{6}_[0-9a-f]{1,32}")


def is_session_id(text: str) -> bool:
    """Whether a text may be the id of a session."""
    return _ID.fullmatch(text) is not None


def is_issued(text: str) -> bool:
    """Whether a text looks like the id of a session that Hermes gave: a time and a random part. It is no word
    that a command takes for something else, such as `latest`.
    """
    return _ISSUED.fullmatch(text) is not None
