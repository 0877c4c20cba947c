"""Layer 9. MCP: the tools, resources and prompts of other programs, as tools of ours."""
