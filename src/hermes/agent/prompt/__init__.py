"""The system prompt: made once for a session, then frozen."""
