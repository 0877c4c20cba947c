CREATE TABLE sessions (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  created REAL NOT NULL,
  title TEXT NOT NULL DEFAULT '',
  cwd TEXT NOT NULL DEFAULT '',
  branch TEXT NOT NULL DEFAULT '',
  source TEXT NOT NULL DEFAULT 'cli',
  model TEXT NOT NULL DEFAULT '',
  parent TEXT NOT NULL DEFAULT '',
  system TEXT NOT NULL DEFAULT '',
  tools BLOB NOT NULL DEFAULT '[]'
);
-- A message's place is its session's key, shifted by 24 bits, plus its number in the session: a session's rows lie together,
-- an append touches one page, and two processes that append to one session collide instead of interleaving.
CREATE TABLE messages (
  place INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  body BLOB NOT NULL,
  dropped INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE intents (
  session INTEGER NOT NULL,
  call_id TEXT NOT NULL,
  tool TEXT NOT NULL,
  digest TEXT NOT NULL,
  result BLOB,
  PRIMARY KEY (session, call_id)
) WITHOUT ROWID;
