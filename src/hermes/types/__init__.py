"""Layer 2. Values only: no I/O, no third party but the struct."""
