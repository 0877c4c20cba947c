"""`tools.credential_files`: paths as the agent sees them."""


def to_agent_visible_cache_path(path: str) -> str:
    """The same path: commands see the folders of the home where they are."""
    return str(path)
