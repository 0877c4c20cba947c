"""What a tool's schema promises, as arguments to try it with and rules for what it gives."""
