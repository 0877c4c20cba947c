"""The built-in tools: one file per family, strangers to each other."""
