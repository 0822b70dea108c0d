-- A turn changes fewer pages: no index contains what each turn changes, or what another index tells.

ALTER TABLE session ADD COLUMN running INTEGER NOT NULL DEFAULT 0;
UPDATE session SET running = (SELECT count(*) FROM turn WHERE turn.session = session.id AND turn.status = 'running');
DROP INDEX turn_running;
DROP INDEX session_by_cwd;
CREATE INDEX session_by_cwd ON session (cwd);
DROP INDEX usage_by_session;

ALTER TABLE partial RENAME TO saved_partial;
CREATE TABLE partial (
    session TEXT NOT NULL,
    turn    TEXT NOT NULL,
    n       INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    text    TEXT NOT NULL,
    PRIMARY KEY (session, turn, n),
    FOREIGN KEY (session, turn) REFERENCES turn (session, id)
) STRICT, WITHOUT ROWID;
INSERT INTO partial SELECT * FROM saved_partial;
DROP TABLE saved_partial;
