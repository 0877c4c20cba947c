"""The system prompt: what it is made of, in its order."""
