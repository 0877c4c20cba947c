"""Layer 13. Test doubles at the seams, for our tests and for plugin authors: a scripted model and a server that plays it."""

from hermes.testing.script import ScriptedModel, Turn, call, calls, fail, network, raw, say
from hermes.testing.server import ScriptedServer

__all__ = ["ScriptedModel", "ScriptedServer", "Turn", "call", "calls", "fail", "network", "raw", "say"]
