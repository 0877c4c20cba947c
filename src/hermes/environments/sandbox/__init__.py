"""The kernel sandbox around local commands: mounts, rules, and the way out to named hosts."""
