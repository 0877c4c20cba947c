-- The messages that were taken out of their log are few: by them a session's messages are counted without reading its rows.
CREATE INDEX messages_dropped ON messages (place) WHERE dropped = 1;
