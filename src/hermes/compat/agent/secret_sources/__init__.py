"""`agent.secret_sources`: a package of published names."""
