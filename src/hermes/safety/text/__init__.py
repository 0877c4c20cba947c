"""Find what in a text is hidden, encoded or forged."""
