"""Layer 7. What the model can call."""
