"""Layer 1. Small libraries that know nothing of Hermes."""
