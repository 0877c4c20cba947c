"""Layer 5: environments that are not this machine."""
