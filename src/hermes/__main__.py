"""`python -m hermes` and the console command."""
