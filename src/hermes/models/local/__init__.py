"""The built-in model: known files, fetching them, and serving one by an engine of its own."""
