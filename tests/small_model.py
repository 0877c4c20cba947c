"""The smaller of the catalogue's models, for tests of what any model shows; the larger one answers the README's question."""

from pathlib import Path

import platformdirs

from hermes.config.environ import environment
from hermes.models.local.catalogue import entries
from hermes.models.local.pull import pull

ALIAS = "qwen2.5-coder-0.5b"


async def small_model() -> Path:
    """Its file, fetched into the user's cache if it is not there."""
    cache = Path(environment().get("HERMES_CACHE") or platformdirs.user_cache_path("hermes")) / "models"
    model = next(one for one in entries() if one.alias == ALIAS)
    return await pull(model, cache, progress=lambda *_: None)
