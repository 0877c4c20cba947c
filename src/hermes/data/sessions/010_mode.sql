-- What a person lets the session change, as JSON; empty as the settings have it.
ALTER TABLE sessions ADD COLUMN mode TEXT NOT NULL DEFAULT '';
