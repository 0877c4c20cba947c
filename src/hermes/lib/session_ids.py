"""What may be the id of a session: folders and keys are named after it, so it is never a path."""

import re

_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


def is_session_id(text: str) -> bool:
    """Whether a text may be the id of a session."""
    return _ID.fullmatch(text) is not None
