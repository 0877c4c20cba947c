"""`gateway`: a package of published names; nothing is in it but its modules."""
