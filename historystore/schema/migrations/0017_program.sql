-- Which program brought the database to a schema, so that an older program can name the version to install.

CREATE TABLE program (
    schema  INTEGER PRIMARY KEY,
    version TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
