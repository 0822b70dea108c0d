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
