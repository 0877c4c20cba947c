"""Layer 5. Talking to a model."""
