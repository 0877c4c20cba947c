"""Commands that the modes of files hold, whoever runs the tests."""

import os


def held_by_modes(*words: str) -> list[str]:
    """The command for a process that reads and writes what the modes of files allow; root runs it without
    the right to pass over them.
    """
    rights = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    return [*rights, *words]
