-- A store as layout 4 made it, before there were checksums: one English document.
CREATE TABLE indices (
    index_id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, generation TEXT NOT NULL,
    meta TEXT NOT NULL, changes INTEGER NOT NULL DEFAULT 0);
CREATE TABLE aliases (name TEXT PRIMARY KEY, index_id INTEGER NOT NULL);
CREATE TABLE partitions (
    partition_id INTEGER PRIMARY KEY AUTOINCREMENT, index_id INTEGER NOT NULL, language TEXT NOT NULL,
    UNIQUE (index_id, language));
CREATE TABLE documents (
    row_id INTEGER PRIMARY KEY AUTOINCREMENT, index_id INTEGER NOT NULL, partition_id INTEGER NOT NULL,
    doc_id TEXT NOT NULL, bag TEXT NOT NULL, url TEXT NOT NULL, title TEXT NOT NULL, metadata TEXT NOT NULL,
    text TEXT NOT NULL, UNIQUE (index_id, doc_id));
CREATE INDEX documents_by_partition ON documents (partition_id);
CREATE TABLE vectors (
    row_id INTEGER PRIMARY KEY, index_id INTEGER NOT NULL, change INTEGER NOT NULL, nbow BLOB,
    weights TEXT NOT NULL DEFAULT '');
CREATE INDEX vectors_by_change ON vectors (index_id, change);
CREATE TABLE facets (
    index_id INTEGER NOT NULL, row_id INTEGER NOT NULL, field TEXT NOT NULL, text TEXT, number REAL);
CREATE INDEX facets_by_row ON facets (row_id);
CREATE INDEX facets_by_text ON facets (index_id, field, text, row_id);
CREATE INDEX facets_by_number ON facets (index_id, field, number, row_id);
CREATE TABLE idf (
    index_id INTEGER NOT NULL, language TEXT NOT NULL, n_documents INTEGER NOT NULL, term_ids BLOB NOT NULL,
    counts BLOB NOT NULL, PRIMARY KEY (index_id, language));
CREATE TABLE hubness_samples (index_id INTEGER PRIMARY KEY, sample TEXT NOT NULL);
CREATE TABLE claims (name TEXT PRIMARY KEY, owner TEXT NOT NULL, claimed_until REAL NOT NULL);
CREATE VIRTUAL TABLE words_1 USING fts5 (terms, tokenize = "ascii tokenchars '.,'");
CREATE VIRTUAL TABLE vocabulary_1 USING fts5vocab (words_1, row);
INSERT INTO partitions VALUES (1, 1, 'en');
INSERT INTO documents VALUES (1, 1, 1, 'old', '', 'https://example.org/', 'A title', '{"year": 1999}', 'a walrus');
INSERT INTO words_1 (rowid, terms) VALUES (1, 'titl walrus');
INSERT INTO vectors VALUES (1, 1, 1, X'0000803F000000000000000000000000', 'w');
INSERT INTO facets VALUES (1, 1, 'year', NULL, 1999.0);
PRAGMA application_id = 1399745394;
PRAGMA user_version = 4;
PRAGMA journal_mode = WAL;
