-- The order in which sessions were used last, by no clock: each time somebody speaks in one, it gets the next number.
CREATE TABLE uses (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL UNIQUE
);
INSERT INTO uses (session)
SELECT key FROM sessions ORDER BY coalesce(
  (SELECT CASE WHEN json_valid(CAST(body AS TEXT)) THEN json_extract(CAST(body AS TEXT), '$.at') END FROM messages
   WHERE place >= key << 24 AND place < (key + 1) << 24 ORDER BY place DESC LIMIT 1), created), key;
