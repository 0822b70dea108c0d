-- Heads of messages, packed in the background. Sessions of earlier versions are packed after they are loaded.

CREATE TABLE head_block (
    session   TEXT NOT NULL REFERENCES session (id),
    first_seq INTEGER NOT NULL,
    last_seq  INTEGER NOT NULL,
    heads     BLOB NOT NULL,
    PRIMARY KEY (session, first_seq)
) STRICT;
