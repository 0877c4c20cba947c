"""Layer 13. Test doubles at the seams, for our tests and for plugin authors: a scripted model and a server
that plays it, stores, a clock.
"""

from hermes.testing.clock import VirtualClock
from hermes.testing.script import ScriptedModel, Turn, call, calls, fail, network, raw, say
from hermes.testing.server import ScriptedServer
from hermes.testing.store import FailingStore, MemoryStore, failing_at

__all__ = [
    "FailingStore",
    "MemoryStore",
    "ScriptedModel",
    "ScriptedServer",
    "Turn",
    "VirtualClock",
    "call",
    "calls",
    "fail",
    "failing_at",
    "network",
    "raw",
    "say",
]
