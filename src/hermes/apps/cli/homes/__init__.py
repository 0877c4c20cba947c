"""Homes of other agents: what is in them, and how it comes into a home of ours."""
