-- What model requests have used, added up for each day, session, task and model. Rows outlive their session: money stays spent.
CREATE TABLE usage (
  day TEXT NOT NULL,
  session TEXT NOT NULL,
  task TEXT NOT NULL,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  requests INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  input INTEGER NOT NULL,
  output INTEGER NOT NULL,
  cache_read INTEGER NOT NULL,
  cache_write INTEGER NOT NULL,
  reasoning INTEGER NOT NULL,
  cost REAL NOT NULL,
  unpriced INTEGER NOT NULL,
  counted REAL NOT NULL,
  PRIMARY KEY (day, session, task, provider, model)
) WITHOUT ROWID;
