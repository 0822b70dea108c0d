-- Messages are indexed in the background. Those of earlier versions are indexed already.

DROP TRIGGER message_fts_insert;
DROP TRIGGER message_fts_delete;
DROP TRIGGER message_fts_update;
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
