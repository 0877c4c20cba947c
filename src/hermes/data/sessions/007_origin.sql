-- A session that began with the log of another one, and where a log came from that was written elsewhere.
ALTER TABLE sessions ADD COLUMN origin TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN outside TEXT NOT NULL DEFAULT '';
