"""`utils`: files written whole, and values read leniently."""

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hermes.lib.files import write_atomic
from hermes.lib.lazy import import_object
from hermes.plugins.aliases import Guest

_TRUE = frozenset({"1", "true", "yes", "on"})


def published(guest: Guest) -> dict[str, Any]:
    """The functions that read variables, for the files of one guest."""
    get = guest.environ.get
    return {
        "env_int": lambda name, default=0: _number(int, get(name), default),
        "env_float": lambda name, default=0.0: _number(float, get(name), default),
        "env_bool": lambda name, default=False: is_truthy_value(get(name), default),
        "env_var_enabled": lambda name, default="": is_truthy_value(get(name, default)),
    }


def is_truthy_value(value: object, default: bool = False) -> bool:
    """Whether a value says yes."""
    if value is None:
        return default
    return value.strip().lower() in _TRUE if isinstance(value, str) else bool(value)


def safe_json_loads(text: str, default: Any = None) -> Any:
    """What a JSON text says; the default where it is none."""
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return default


def atomic_json_write(path: str | Path, data: Any, *, indent: int = 2, mode: int | None = None) -> None:
    """Replace a file by JSON in one step."""
    write_atomic(Path(path), json.dumps(data, indent=indent, ensure_ascii=False).encode(), mode=mode)


def atomic_yaml_write(path: str | Path, data: Any, **kwargs: Any) -> None:
    """Replace a file by YAML in one step."""
    stream = import_object("io:StringIO")()
    import_object("ruamel.yaml:YAML")(typ="safe", pure=True).dump(data, stream)
    write_atomic(Path(path), stream.getvalue().encode(), mode=kwargs.get("mode"))


def atomic_replace(tmp: str | Path, target: str | Path) -> None:
    """Put a file in another's place, where a link leads to."""
    Path(tmp).replace(os.path.realpath(target))


def base_url_hostname(base_url: str) -> str:
    """The host of an address, which may lack its scheme."""
    return (urlsplit(base_url if "://" in base_url else f"//{base_url}").hostname or "").lower()


def base_url_host_matches(base_url: str, domain: str) -> bool:
    """Whether the host of an address is a domain, or below it."""
    host = base_url_hostname(base_url)
    return host == domain.lower() or host.endswith(f".{domain.lower()}")


def _number(kind: type[float], value: str | None, default: float) -> float:
    try:
        return kind(value) if value is not None else default
    except ValueError:
        return default
