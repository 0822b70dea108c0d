-- A turn has steps. Calls of earlier versions belong to none; an earlier chunk belongs to the turn's reply.

ALTER TABLE partial ADD COLUMN message TEXT NOT NULL DEFAULT '';
ALTER TABLE usage ADD COLUMN step INTEGER NOT NULL DEFAULT 0;
