"""Layer 13. Programs: the command line and the terminal screen."""
