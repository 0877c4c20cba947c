"""Hermes as a server for other programs: its sessions and tools over MCP."""
