"""Layer 11. From events and text to lines for a terminal; pure, no terminal needed."""
