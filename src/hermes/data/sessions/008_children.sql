-- The children of a session are found without reading all rows: what they used counts as its own.
CREATE INDEX sessions_parent ON sessions (parent) WHERE parent != '';
