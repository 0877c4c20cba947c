"""Layer 5. Where commands run and files live."""
