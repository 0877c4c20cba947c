"""Layer 5. What survives a restart."""
