-- What a person lets the session change, as JSON; empty as the settings have it.
-- Messages may hold blocks of the kind `command`, which tell what the person ran.
ALTER TABLE sessions ADD COLUMN mode TEXT NOT NULL DEFAULT '';
