"""Requests that must succeed: the executor, its routes, and what follows a failure."""
