-- What tools change in files, and the contents of these files before and after.

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

ALTER TABLE session ADD COLUMN image_bytes INTEGER NOT NULL DEFAULT 0;
CREATE TRIGGER file_image_added AFTER INSERT ON file_image
BEGIN
    UPDATE session SET image_bytes = image_bytes + new.bytes WHERE id = new.session;
END;
CREATE TRIGGER file_image_removed AFTER DELETE ON file_image
BEGIN
    UPDATE session SET image_bytes = image_bytes - old.bytes WHERE id = old.session;
END;
