"""Children of a session: opened, watched over, reported."""
