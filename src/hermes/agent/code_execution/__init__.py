"""Scripts that call tools: the module they import, their calls, and their result."""
