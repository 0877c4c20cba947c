"""The built-in model: known files, fetching them, and serving one in this process."""
