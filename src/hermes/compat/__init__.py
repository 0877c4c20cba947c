"""Layer 14. Published names of the described system, as thin adapters; reached by name only."""
