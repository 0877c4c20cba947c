-- Questions of sessions to people. A row is written before anybody is told of the question, so that it can be answered later and from elsewhere;
-- state: open, answered (and not yet used), used, expired, withdrawn.
CREATE TABLE questions (
  id TEXT NOT NULL PRIMARY KEY,
  session INTEGER NOT NULL,
  addressee TEXT NOT NULL,
  asked REAL NOT NULL,
  expires REAL NOT NULL,
  call_id TEXT NOT NULL,
  question BLOB NOT NULL,
  state TEXT NOT NULL DEFAULT 'open',
  answer BLOB,
  answered_by TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE INDEX questions_of_session ON questions (session);
