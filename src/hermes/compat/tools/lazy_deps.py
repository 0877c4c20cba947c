"""`tools.lazy_deps`: packages that are imported when they are used; nothing is installed."""

from collections.abc import Callable, Mapping, MutableMapping
from importlib.util import find_spec
from typing import Any

from hermes.lib.lazy import import_object


def ensure(feature: str, **kwargs: Any) -> None:
    """ImportError, which says how to get it, where the package of a feature is not there."""
    package = feature.rpartition(".")[2]
    if find_spec(package.replace("-", "_")) is None:
        raise ImportError(
            f"{feature} needs a package that is not installed: pip install {package}", name=package
        )


def ensure_and_bind(
    feature: str,
    importer: Callable[[], Mapping[str, Any]] | str,
    target: MutableMapping[str, Any],
    **kwargs: Any,
) -> bool:
    """Put what an importer gives into a module's names; whether it could be imported."""
    try:
        target.update(importer() if callable(importer) else {importer: import_object(importer)})
    except ImportError:
        return False
    return True
