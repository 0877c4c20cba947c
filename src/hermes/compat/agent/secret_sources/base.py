"""`agent.secret_sources.base`: what a source of secrets is made from; nothing asks one yet."""

import re
from abc import ABC, abstractmethod
from enum import Enum
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, field


class ErrorKind(Enum):
    """Why a source has given nothing."""

    NOT_CONFIGURED = "not_configured"
    BINARY_MISSING = "binary_missing"
    AUTH_FAILED = "auth_failed"
    AUTH_EXPIRED = "auth_expired"
    REF_INVALID = "ref_invalid"
    EMPTY_VALUE = "empty_value"
    NETWORK = "network"
    TIMEOUT = "timeout"
    INTERNAL = "internal"


class FetchResult(Struct):
    """What a source has given."""

    secrets: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    error: str | None = None
    error_kind: ErrorKind | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing went wrong."""
        return self.error is None


class SecretSource(ABC):
    """Gives values of variables from a store of secrets."""

    api_version = 1
    name = ""
    label = ""
    shape: Literal["mapped", "bulk"] = "mapped"
    scheme: str | None = None

    @abstractmethod
    def fetch(self, cfg: dict[str, Any], home_path: Path) -> FetchResult:
        """The values; it never raises."""

    def override_existing(self, cfg: dict[str, Any]) -> bool:
        """Whether its values win over those that are set."""
        return bool(cfg.get("override_existing"))

    def protected_env_vars(self, cfg: dict[str, Any]) -> frozenset[str]:
        """Variables that it never sets."""
        return frozenset()

    def config_schema(self) -> dict[str, Any]:
        """What a person may set."""
        return {}


def is_valid_env_name(name: object) -> bool:
    """Whether it can be the name of a variable."""
    return isinstance(name, str) and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None
