"""`gateway.platforms`: a package of published names."""
