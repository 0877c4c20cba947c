"""Room for the next request: what a model sees of a log that grew too long, and the entry that says so."""
