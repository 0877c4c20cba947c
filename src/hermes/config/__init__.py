"""Layer 3. What the user has decided."""
