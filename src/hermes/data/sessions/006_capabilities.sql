-- What a session may do at most, as JSON; empty where it was opened without bounds of its own.
ALTER TABLE sessions ADD COLUMN capabilities TEXT NOT NULL DEFAULT '';
