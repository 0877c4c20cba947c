"""Layer 8. The turn."""
