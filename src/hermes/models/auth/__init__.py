"""Credentials: pools, sign-ins, signatures, and the secret at the moment of use."""
