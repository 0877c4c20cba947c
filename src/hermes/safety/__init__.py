"""Layer 5. May this happen."""
