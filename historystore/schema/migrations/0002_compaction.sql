-- Version 2.

CREATE TABLE compaction (
    session TEXT PRIMARY KEY REFERENCES session (id),
    body    TEXT NOT NULL
) STRICT;
