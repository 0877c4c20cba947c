"""The programs, as their users meet them."""
