-- The rows of layouts. A layout without rows, as earlier versions stored it, is all in the head.

CREATE TABLE layout_row (
    session TEXT NOT NULL REFERENCES session (id),
    n       INTEGER NOT NULL,
    bytes   BLOB NOT NULL, -- opaque
    PRIMARY KEY (session, n)
) STRICT;
