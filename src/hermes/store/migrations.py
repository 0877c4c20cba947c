"""The schema scripts, in order, out of the package's data."""

from importlib.resources import files


def scripts(name: str) -> list[str]:
    """The migrations of one database: `sessions`, `search` or `facts`."""
    folder = files("hermes") / "data" / name
    found = sorted(
        (entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda entry: entry.name
    )
    return [entry.read_text(encoding="utf-8") for entry in found]
