"""Layer 12. Slash commands, shared by all interactive apps."""
