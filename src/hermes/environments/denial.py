"""What a sandbox seems to have kept from a command, told by the errors of the system in its output."""

import errno
import os
import re
from typing import Final

from hermes.environments.base import Finished
from hermes.types.action import Permit


def _errors(*numbers: int) -> str:
    return "|".join(f"{re.escape(os.strerror(one))}|{errno.errorcode[one]}" for one in numbers)


_NETWORK: Final = re.compile(
    _errors(errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ECONNREFUSED)
    + r"|EAI_AGAIN|ENOTFOUND|[Nn]ame resolution|resolve host|no such host|unknown host|not known|\[network: "
)
_FILES: Final = re.compile(_errors(errno.EROFS))
_RIGHTS: Final = re.compile(_errors(errno.EPERM, errno.EACCES))


def denial(done: Finished, permit: Permit) -> str:
    """What a confined command that failed may have lacked, and what to declare; "" where nothing tells of
    it.
    """
    if not permit.confined or not done.code:
        return ""
    ways = []
    if permit.network is not True and _NETWORK.search(done.text):
        ways.append('the network: needs {"hosts": ["…"]} or {"network": true}')
    if _FILES.search(done.text):
        ways.append('writing there: needs {"paths": ["…"]}')
    if not ways and _RIGHTS.search(done.text):
        ways.append('rights, a service or credentials: needs {"unconfined": true}')
    if not ways:
        return ""
    return (
        f"The sandbox may have kept this from {'; or '.join(ways)}. Call again with it if it must be; the"
        " user is asked."
    )
