"""Layer 6. Skills: procedures kept as files, in the folders of agentskills.io."""
