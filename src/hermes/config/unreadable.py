"""What is said of a file of the user's that cannot be read."""

from pathlib import Path

from hermes.lib.small_files import OddFile
from hermes.types.error import ConfigError


def unreadable(path: Path, error: OSError | UnicodeDecodeError) -> ConfigError:
    """The error for a file whose reading failed, with what is to be done."""
    if isinstance(error, OddFile):
        return ConfigError(f"{path} cannot be read: {error.strerror}; mend it or move it away.")
    if isinstance(error, OSError):
        return ConfigError(
            f"{path} cannot be read ({error.strerror}); check the permissions of it and its folders."
        )
    return ConfigError(f"{path} cannot be read ({error}); mend it or move it away.")
