"""Layer 9. Third parties' code."""
