"""The interactive terminal: one conversation in the terminal's own scrollback."""
