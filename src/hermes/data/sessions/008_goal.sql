-- The goal that a session pursues, as JSON; empty where it has none.
ALTER TABLE sessions ADD COLUMN goal TEXT NOT NULL DEFAULT '';
