-- Every model call has a row, also one that was stopped or failed.

ALTER TABLE usage ADD COLUMN status TEXT NOT NULL DEFAULT 'complete';
ALTER TABLE usage ADD COLUMN attempts INTEGER NOT NULL DEFAULT 1;
ALTER TABLE usage ADD COLUMN failure TEXT NOT NULL DEFAULT '';
ALTER TABLE usage ADD COLUMN duration INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN first_token INTEGER NOT NULL DEFAULT 0;
