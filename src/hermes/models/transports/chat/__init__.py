"""The chat completions wire."""
