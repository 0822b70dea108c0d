-- A search folds the copies of a message, which have its time and its place, into one hit.

CREATE INDEX message_by_time ON message (at, seq);
