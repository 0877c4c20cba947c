"""Find orders to an agent in text that came from outside."""
