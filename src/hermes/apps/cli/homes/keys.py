"""Keys: the lines of a `.env` whose names say that they are keys, and those of the original's auth.json.

Every other variable stays where it is: one could lead a key elsewhere, or loosen the sandbox.
"""

import io
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from dotenv import dotenv_values

from hermes.apps.cli.homes.part import KEPT, THERE, Ours, Part
from hermes.apps.cli.homes.source import ForeignFolder
from hermes.config.edit import set_secret
from hermes.lib.secretnames import is_secret_name
from hermes.models.catalog.catalogue import provider
from hermes.store.auth import AuthFile
from hermes.types.credential import Credential
from hermes.types.error import ConfigError

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


def env_keys(source: ForeignFolder, ours: Ours, file: str = ".env") -> Iterator[Part]:
    """The keys of a `.env`."""
    found = dotenv_values(stream=io.StringIO(source.text(file)), interpolate=False)
    for name, value in found.items():
        if value:
            yield env_key(name, value, ours)


def env_key(name: str, value: str, ours: Ours) -> Part:
    """One variable, which is taken where it is a key and not set here."""
    if not _NAME.fullmatch(name) or not is_secret_name(name):
        return Part(kind="keys", name=name, becomes="not taken: its name is none of a key")
    if not value.isprintable():
        return Part(kind="keys", name=name, becomes="not taken: its value is no line of text")
    if name in ours.variables:
        return Part(kind="keys", name=name, becomes=THERE if ours.variables[name] == value else KEPT)
    take = partial(set_secret, ours.home.env_file, name, value)
    return Part(kind="keys", name=name, becomes="kept in .env", take=take)


def pooled_keys(source: ForeignFolder, ours: Ours) -> Iterator[Part]:
    """The keys of the original's pool (auth.json)."""
    auth = AuthFile(ours.home.auth_file)
    for name, row in _rows(source.json("auth.json")):
        yield _pooled(name, row, auth)


def _rows(tree: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each entry with its provider: a list for each stands in the file itself, or in a section of it."""
    for place in (tree, tree.get("credential_pool"), tree.get("providers")):
        for name, rows in place.items() if isinstance(place, Mapping) else ():
            for row in rows if isinstance(rows, list) else ():
                if isinstance(row, Mapping) and "access_token" in row:
                    yield name, row


def _pooled(name: str, row: Mapping[str, Any], auth: AuthFile) -> Part:
    label, secret = str(row.get("label") or row.get("id") or ""), row.get("access_token")
    told = f"{name} {label}".strip()
    if why := _stays(name, row):
        return Part(kind="keys", name=told, becomes=f"not taken: {why}")
    own = provider(name).name
    if any(one.secret == secret for one in auth.credentials(own)):
        return Part(kind="keys", name=told, becomes=THERE)
    taken = {one.id for one in auth.credentials(own)}
    one = Credential(
        id=_free_id(str(row.get("id") or label or "key"), taken), label=label, secret=str(secret)
    )
    return Part(kind="keys", name=told, becomes="kept in auth.json", take=partial(auth.add, own, one))


def _stays(name: str, row: Mapping[str, Any]) -> str:
    """Why an entry is not taken; "" for one that is."""
    secret, where = row.get("access_token"), str(row.get("base_url") or "").rstrip("/")
    try:
        known = provider(name)
    except ConfigError:
        return "nobody here knows this provider"
    if row.get("auth_type") != "api_key":
        return f"a sign-in counts once; hermes auth add {known.name} signs in here"
    if not (isinstance(secret, str) and secret and secret.isprintable()):
        return "it holds no key"
    if where and where != known.base_url.rstrip("/"):
        return "it belongs to another address"
    return ""


def _free_id(wanted: str, taken: set[str]) -> str:
    plain = re.sub(r"[^A-Za-z0-9_-]", "", wanted)[:40] or "key"
    return next(one for one in (plain, *(f"{plain}-{n}" for n in range(2, 1000))) if one not in taken)
