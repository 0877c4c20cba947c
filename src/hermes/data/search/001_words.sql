CREATE VIRTUAL TABLE words USING fts5(body, content='', tokenize='porter unicode61');
CREATE TABLE progress (session INTEGER PRIMARY KEY, last INTEGER NOT NULL);
