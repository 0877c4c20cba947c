"""Read a shell command: what it would run, touch and send."""
