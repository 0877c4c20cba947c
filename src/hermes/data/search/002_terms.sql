-- What is indexed is prepared now (letters of scripts without spaces and symbols stand alone), so all of it is indexed anew.
DROP TABLE words;
DELETE FROM progress;
CREATE VIRTUAL TABLE words USING fts5(body, content='', tokenize='porter unicode61');
-- Each word once, and by the letters in it: a part of a word is found by the words that have it.
CREATE TABLE terms (number INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE);
CREATE VIRTUAL TABLE parts USING fts5(term, content='terms', content_rowid='number', tokenize='trigram', detail='full');
CREATE TRIGGER terms_parts AFTER INSERT ON terms BEGIN INSERT INTO parts (rowid, term) VALUES (new.number, new.term); END;
