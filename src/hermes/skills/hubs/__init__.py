"""Places that skills of others are found in and fetched from, all behind one protocol."""
