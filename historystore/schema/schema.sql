-- The newest schema. The numbered files in migrations lead older databases to the same one.
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
    messages      INTEGER NOT NULL DEFAULT 0,
    calls         INTEGER NOT NULL DEFAULT 0, -- this and the rest: sums over usage
    input         INTEGER NOT NULL DEFAULT 0,
    output        INTEGER NOT NULL DEFAULT 0,
    cache_read    INTEGER NOT NULL DEFAULT 0,
    cache_write   INTEGER NOT NULL DEFAULT 0,
    cost          REAL NOT NULL DEFAULT 0,
    running       INTEGER NOT NULL DEFAULT 0, -- turns
    image_bytes   INTEGER NOT NULL DEFAULT 0  -- sum over file_image
) STRICT;
CREATE INDEX session_by_time ON session (updated_at, id);
CREATE INDEX session_by_cwd ON session (cwd); -- without the time, which each turn changes

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

-- Heads of consecutive messages, packed in the background, so that a long session is loaded in few rows. The rows of
-- message are the truth: a block that does not agree with them is replaced.
CREATE TABLE head_block (
    session   TEXT NOT NULL REFERENCES session (id),
    first_seq INTEGER NOT NULL,
    last_seq  INTEGER NOT NULL,
    heads     BLOB NOT NULL, -- with a checksum
    PRIMARY KEY (session, first_seq)
) STRICT;

-- A search finds the copies of a message by it: forks and imports keep time and place.
CREATE INDEX message_by_time ON message (at, seq);

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

-- The newest compaction of each session.
CREATE TABLE compaction (
    session TEXT PRIMARY KEY REFERENCES session (id),
    body    TEXT NOT NULL -- JSON object
) STRICT;

CREATE TABLE partial (
    session TEXT NOT NULL,
    turn    TEXT NOT NULL,
    n       INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    text    TEXT NOT NULL,
    message TEXT NOT NULL DEFAULT '', -- id of the step's message; empty: the turn's reply_id
    PRIMARY KEY (session, turn, n),
    FOREIGN KEY (session, turn) REFERENCES turn (session, id)
) STRICT, WITHOUT ROWID;

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
    documents   TEXT NOT NULL DEFAULT '', -- JSON object, tokens by name
    phase       TEXT NOT NULL DEFAULT '',
    estimated   INTEGER NOT NULL DEFAULT 0, -- flag: some of it was counted, not told
    step        INTEGER NOT NULL DEFAULT 0, -- of the turn, from 1; 0 for none
    status      TEXT NOT NULL DEFAULT 'complete', -- or stopped, or failed
    attempts    INTEGER NOT NULL DEFAULT 1,       -- requests that were sent
    failure     TEXT NOT NULL DEFAULT '',         -- JSON object; empty for none
    duration    INTEGER NOT NULL DEFAULT 0,       -- ms
    first_token INTEGER NOT NULL DEFAULT 0,       -- ms; 0: nothing arrived, or not known
    UNIQUE (session, id)
) STRICT;

-- Sums over usage by quarter of an hour: the days of all time zones begin at one.
CREATE TABLE spending (
    session     TEXT NOT NULL REFERENCES session (id),
    quarter     INTEGER NOT NULL, -- time / 15 min
    model       TEXT NOT NULL,
    calls       INTEGER NOT NULL,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    cost        REAL NOT NULL,
    expected    INTEGER NOT NULL,
    free        INTEGER NOT NULL, -- calls with tokens and a cost of 0
    failed      INTEGER NOT NULL, -- calls
    stopped     INTEGER NOT NULL, -- calls
    PRIMARY KEY (session, quarter, model)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER usage_spent AFTER INSERT ON usage
BEGIN
    INSERT INTO spending VALUES (new.session, new.at / 900000000, new.model, 1, new.input, new.output, new.cache_read, new.cache_write,
        new.cost, new.expected, new.cost = 0 AND new.input + new.output + new.cache_read + new.cache_write > 0, new.status = 'failed', new.status = 'stopped')
    ON CONFLICT DO UPDATE SET calls = calls + 1, input = input + excluded.input, output = output + excluded.output,
        cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write,
        cost = cost + excluded.cost, expected = expected + excluded.expected, free = free + excluded.free,
        failed = failed + excluded.failed, stopped = stopped + excluded.stopped;
END;

-- The newest warning about each budget of the configuration.
CREATE TABLE budget_warning (
    budget TEXT PRIMARY KEY, -- as it is configured
    since  INTEGER NOT NULL, -- beginning of its period
    event  INTEGER NOT NULL, -- number of thresholds that clients were told
    notice INTEGER NOT NULL  -- number of thresholds that a session was told
) STRICT;

-- How the requests of calls were laid out.
CREATE TABLE request (
    rowid    INTEGER PRIMARY KEY,
    session  TEXT NOT NULL REFERENCES session (id),
    call     TEXT NOT NULL,    -- id of a row of usage
    message  TEXT NOT NULL,    -- id of the reply; empty for none
    at       INTEGER NOT NULL,
    base     INTEGER NOT NULL, -- rowid of the whole request to which body is a difference; 0: it is whole
    bytes    INTEGER NOT NULL, -- of body
    checksum INTEGER NOT NULL, -- CRC-32C of call, base and body
    body     BLOB NOT NULL,
    UNIQUE (session, call)
) STRICT;
CREATE INDEX request_by_message ON request (session, message) WHERE message <> '';
CREATE INDEX request_by_base ON request (base) WHERE base <> 0;
CREATE INDEX request_by_age ON request (at, base, bytes);

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
    bytes   BLOB NOT NULL -- the head; opaque
) STRICT;

CREATE TABLE layout_row (
    session TEXT NOT NULL REFERENCES session (id),
    n       INTEGER NOT NULL,
    bytes   BLOB NOT NULL, -- opaque
    PRIMARY KEY (session, n)
) STRICT;

CREATE TABLE blob (
    hash  TEXT PRIMARY KEY, -- SHA-256 in hex
    bytes BLOB NOT NULL
) STRICT;

-- Which layouts refer to a blob. A blob without a reference, from here or from file_image, is dropped.
CREATE TABLE blob_ref (
    session TEXT NOT NULL REFERENCES session (id),
    hash    TEXT NOT NULL REFERENCES blob (hash),
    PRIMARY KEY (session, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_ref_by_hash ON blob_ref (hash);

-- What tools change in files.
CREATE TABLE file_change (
    rowid       INTEGER PRIMARY KEY, -- in the order of the changes
    session     TEXT NOT NULL REFERENCES session (id),
    id          TEXT NOT NULL,
    turn        TEXT NOT NULL,
    step        INTEGER NOT NULL,
    call        TEXT NOT NULL,
    seq         INTEGER NOT NULL, -- of the message with the call
    kind        TEXT NOT NULL,
    path        TEXT NOT NULL,
    target      TEXT NOT NULL, -- path to which the file is moved; empty for other kinds
    hash_before TEXT NOT NULL, -- SHA-256 in hex; empty: no file
    hash_after  TEXT NOT NULL,
    mode        INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    state       TEXT NOT NULL,
    restored_by TEXT NOT NULL, -- id of an edit; empty: not restored
    UNIQUE (session, id)
) STRICT;
CREATE INDEX file_change_by_turn ON file_change (session, turn);
CREATE INDEX file_change_planned ON file_change (session) WHERE state = 'planned';

-- The blobs with the contents of changed files.
CREATE TABLE file_image (
    session TEXT NOT NULL REFERENCES session (id),
    hash    TEXT NOT NULL REFERENCES blob (hash),
    bytes   INTEGER NOT NULL, -- size of the blob
    newest  INTEGER NOT NULL, -- rowid of the newest change with this content
    PRIMARY KEY (session, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX file_image_by_hash ON file_image (hash);
CREATE INDEX file_image_by_age ON file_image (session, newest);
CREATE TRIGGER file_image_added AFTER INSERT ON file_image
BEGIN
    UPDATE session SET image_bytes = image_bytes + new.bytes WHERE id = new.session;
END;
CREATE TRIGGER file_image_removed AFTER DELETE ON file_image
BEGIN
    UPDATE session SET image_bytes = image_bytes - old.bytes WHERE id = old.session;
END;

-- Outlines of files, and the file lists of workspace folders. They can be made again from the files.
CREATE TABLE outline (
    key     TEXT PRIMARY KEY, -- language and SHA-256 of a file
    bytes   BLOB NOT NULL,    -- opaque
    used_at INTEGER NOT NULL  -- to within a day
) STRICT;
CREATE INDEX outline_by_use ON outline (used_at);

CREATE TABLE listing (
    folder  TEXT PRIMARY KEY,
    bytes   BLOB NOT NULL,   -- opaque
    used_at INTEGER NOT NULL -- to within a day
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
-- Messages are indexed in the background, in the order of their rows. A message that is indexed has a row here:
-- message_fts_docsize.
CREATE TRIGGER message_fts_delete AFTER DELETE ON message
WHEN EXISTS (SELECT 1 FROM message_fts_docsize WHERE id = old.rowid)
BEGIN
    INSERT INTO message_fts (message_fts, rowid, text) VALUES ('delete', old.rowid, old.text);
END;
CREATE TRIGGER message_fts_update AFTER UPDATE OF text ON message
WHEN EXISTS (SELECT 1 FROM message_fts_docsize WHERE id = old.rowid)
BEGIN
    INSERT INTO message_fts (message_fts, rowid, text) VALUES ('delete', old.rowid, old.text);
    INSERT INTO message_fts (rowid, text) VALUES (new.rowid, new.text);
END;

-- The programs that created the database, or brought it to a schema.
CREATE TABLE program (
    schema  INTEGER PRIMARY KEY,
    version TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
