-- Outlines of files, and the file lists of workspace folders. Nothing was ever stored in the first table.

DROP TABLE outline;
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
