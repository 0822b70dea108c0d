-- Version 1.
-- Times are microseconds since 1970 in UTC. Flags are 0 or 1.

CREATE TABLE session (
    id            TEXT PRIMARY KEY,
    cwd           TEXT NOT NULL,
    roots         TEXT NOT NULL, -- JSON array
    title         TEXT NOT NULL,
    title_by_user INTEGER NOT NULL,
    config        TEXT NOT NULL, -- JSON object
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    deleted_at    INTEGER,          -- NULL while it is not deleted
    hidden        INTEGER NOT NULL, -- an import that is not complete, or a deleted session that is being purged
    messages      INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX session_by_time ON session (updated_at, id);
CREATE INDEX session_by_cwd ON session (cwd, updated_at, id);

CREATE TABLE turn (
    session     TEXT NOT NULL REFERENCES session (id),
    id          TEXT NOT NULL,
    prompt_id   TEXT, -- NULL where the client gave none
    user_id     TEXT NOT NULL,
    reply_id    TEXT NOT NULL,
    status      TEXT NOT NULL,
    stop_reason TEXT NOT NULL,
    failure     TEXT, -- JSON object
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    cost        REAL NOT NULL,
    started_at  INTEGER NOT NULL,
    ended_at    INTEGER NOT NULL,
    PRIMARY KEY (session, id),
    UNIQUE (session, prompt_id)
) STRICT;
CREATE INDEX turn_running ON turn (session) WHERE status = 'running';

CREATE TABLE message (
    rowid     INTEGER PRIMARY KEY,
    session   TEXT NOT NULL REFERENCES session (id),
    seq       INTEGER NOT NULL,
    id        TEXT NOT NULL,
    turn      TEXT NOT NULL,
    role      TEXT NOT NULL,
    status    TEXT NOT NULL,
    tokens    INTEGER NOT NULL,
    bytes     INTEGER NOT NULL, -- of body
    blocks    INTEGER NOT NULL, -- how many it has
    has_calls INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    checksum  INTEGER NOT NULL, -- CRC-32C of body
    body      BLOB NOT NULL,    -- JSON of the whole message
    text      TEXT NOT NULL,    -- what search sees of it
    UNIQUE (session, seq),
    UNIQUE (session, id)
) STRICT;

-- Loading a session reads this alone of its messages, not the pages with their contents.
CREATE INDEX message_head ON message (session, seq, id, turn, role, status, tokens, bytes, blocks, has_calls, at);

CREATE TABLE edit (
    session TEXT NOT NULL REFERENCES session (id),
    seq     INTEGER NOT NULL,
    id      TEXT NOT NULL,
    kind    TEXT NOT NULL,
    at      INTEGER NOT NULL,
    body    TEXT NOT NULL, -- JSON of the whole edit
    PRIMARY KEY (session, seq),
    UNIQUE (session, id)
) STRICT;

-- Messages and edits share one sequence.
CREATE TRIGGER message_seq BEFORE INSERT ON message
WHEN EXISTS (SELECT 1 FROM edit WHERE session = new.session AND seq = new.seq)
BEGIN
    SELECT RAISE(ABORT, 'an edit has this sequence number');
END;
CREATE TRIGGER edit_seq BEFORE INSERT ON edit
WHEN EXISTS (SELECT 1 FROM message WHERE session = new.session AND seq = new.seq)
BEGIN
    SELECT RAISE(ABORT, 'a message has this sequence number');
END;

CREATE TABLE checkpoint (
    session TEXT NOT NULL REFERENCES session (id),
    id      TEXT NOT NULL,
    seq     INTEGER NOT NULL,
    name    TEXT NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (session, id)
) STRICT;

CREATE TABLE partial (
    session TEXT NOT NULL,
    turn    TEXT NOT NULL,
    n       INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    text    TEXT NOT NULL,
    PRIMARY KEY (session, turn, n),
    FOREIGN KEY (session, turn) REFERENCES turn (session, id)
) STRICT;

CREATE TABLE usage (
    rowid       INTEGER PRIMARY KEY,
    session     TEXT NOT NULL REFERENCES session (id),
    id          TEXT NOT NULL,
    turn        TEXT NOT NULL,
    purpose     TEXT NOT NULL,
    model       TEXT NOT NULL,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    cost        REAL NOT NULL,
    expected    INTEGER NOT NULL, -- tokens that were expected to be read from the cache
    categories  TEXT NOT NULL,    -- JSON object
    at          INTEGER NOT NULL,
    UNIQUE (session, id)
) STRICT;
CREATE INDEX usage_by_session ON usage (session);

CREATE TABLE file (
    session TEXT NOT NULL REFERENCES session (id),
    path    TEXT NOT NULL,
    state   BLOB NOT NULL, -- opaque
    buffer  BLOB,          -- the client's unsaved text; NULL where the disk counts
    PRIMARY KEY (session, path)
) STRICT;

CREATE TABLE document (
    session TEXT NOT NULL REFERENCES session (id),
    name    TEXT NOT NULL,
    body    TEXT NOT NULL, -- JSON of the whole document
    PRIMARY KEY (session, name)
) STRICT;

CREATE TABLE layout (
    session TEXT PRIMARY KEY REFERENCES session (id),
    bytes   BLOB NOT NULL -- opaque
) STRICT;

CREATE TABLE blob (
    hash  TEXT PRIMARY KEY, -- SHA-256 in hex
    bytes BLOB NOT NULL
) STRICT;

-- Which layouts refer to a blob. A blob without a reference is dropped.
CREATE TABLE blob_ref (
    session TEXT NOT NULL REFERENCES session (id),
    hash    TEXT NOT NULL REFERENCES blob (hash),
    PRIMARY KEY (session, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_ref_by_hash ON blob_ref (hash);

CREATE TABLE outline (
    hash  TEXT PRIMARY KEY, -- of the file's text, SHA-256 in hex
    bytes BLOB NOT NULL     -- opaque
) STRICT;

CREATE TABLE calibration (
    model  TEXT PRIMARY KEY,
    ratio  REAL NOT NULL,
    weight REAL NOT NULL
) STRICT;

CREATE VIRTUAL TABLE message_fts USING fts5 (
    text,
    content = 'message',
    content_rowid = 'rowid',
    tokenize = 'unicode61 remove_diacritics 2'
);
CREATE TRIGGER message_fts_insert AFTER INSERT ON message BEGIN
    INSERT INTO message_fts (rowid, text) VALUES (new.rowid, new.text);
END;
CREATE TRIGGER message_fts_delete AFTER DELETE ON message BEGIN
    INSERT INTO message_fts (message_fts, rowid, text) VALUES ('delete', old.rowid, old.text);
END;
CREATE TRIGGER message_fts_update AFTER UPDATE OF text ON message BEGIN
    INSERT INTO message_fts (message_fts, rowid, text) VALUES ('delete', old.rowid, old.text);
    INSERT INTO message_fts (rowid, text) VALUES (new.rowid, new.text);
END;
