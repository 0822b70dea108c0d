-- Loading a session reads the sums over its usage from its row.

ALTER TABLE session ADD COLUMN calls INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN input INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN output INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN cache_read INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN cache_write INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN cost REAL NOT NULL DEFAULT 0;

UPDATE session SET (calls, input, output, cache_read, cache_write, cost) = (
    SELECT count(*), coalesce(sum(input), 0), coalesce(sum(output), 0),
        coalesce(sum(cache_read), 0), coalesce(sum(cache_write), 0), coalesce(sum(cost), 0.0)
    FROM usage WHERE usage.session = session.id
);
