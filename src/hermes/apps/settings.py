"""The settings as programs read, explain and change them: those of the runtime and those of screens."""

import hermes.present.settings
import hermes.settings  # noqa: F401  # every section is known before a file is read
from hermes.config import edit
from hermes.config.load import Loaded, load, unknown
from hermes.config.sections import Settings, known_keys

__all__ = ["Loaded", "Settings", "edit", "known_keys", "load", "unknown"]
