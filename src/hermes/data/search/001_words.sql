CREATE VIRTUAL TABLE words USING fts5(body, content='', tokenize='porter unicode61');
CREATE TABLE progress (last INTEGER NOT NULL);
INSERT INTO progress VALUES (0);
