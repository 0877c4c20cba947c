"""From what a provider answered to a Failure."""
