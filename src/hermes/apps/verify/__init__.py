"""Try tools out: each in a program of its own, in a session of its own that nobody else has."""
