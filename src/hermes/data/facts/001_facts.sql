-- Facts, each with where it comes from; `stamp` is of the file that it was read from, where it was.
CREATE TABLE facts (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  body BLOB NOT NULL,
  at REAL NOT NULL,
  origin TEXT NOT NULL,
  stamp TEXT NOT NULL DEFAULT ''
);
CREATE VIRTUAL TABLE fact_words USING fts5(body, tokenize='porter unicode61');
