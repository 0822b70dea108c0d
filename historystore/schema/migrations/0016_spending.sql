-- The usage of all sessions is added up from sums by quarter of an hour, and not from the calls.

CREATE TABLE spending (
    session     TEXT NOT NULL REFERENCES session (id),
    quarter     INTEGER NOT NULL, -- time / 15 min
    model       TEXT NOT NULL,
    calls       INTEGER NOT NULL,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    cost        REAL NOT NULL,
    expected    INTEGER NOT NULL,
    free        INTEGER NOT NULL, -- calls with tokens and a cost of 0
    failed      INTEGER NOT NULL, -- calls
    stopped     INTEGER NOT NULL, -- calls
    PRIMARY KEY (session, quarter, model)
) STRICT, WITHOUT ROWID;
INSERT INTO spending SELECT session, at / 900000000, model, count(*), sum(input), sum(output), sum(cache_read), sum(cache_write),
    sum(cost), sum(expected), sum(cost = 0 AND input + output + cache_read + cache_write > 0), sum(status = 'failed'), sum(status = 'stopped') FROM usage GROUP BY session, at / 900000000, model;
CREATE TRIGGER usage_spent AFTER INSERT ON usage
BEGIN
    INSERT INTO spending VALUES (new.session, new.at / 900000000, new.model, 1, new.input, new.output, new.cache_read, new.cache_write,
        new.cost, new.expected, new.cost = 0 AND new.input + new.output + new.cache_read + new.cache_write > 0, new.status = 'failed', new.status = 'stopped')
    ON CONFLICT DO UPDATE SET calls = calls + 1, input = input + excluded.input, output = output + excluded.output,
        cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write,
        cost = cost + excluded.cost, expected = expected + excluded.expected, free = free + excluded.free,
        failed = failed + excluded.failed, stopped = stopped + excluded.stopped;
END;

-- The newest warning about each budget of the configuration.
CREATE TABLE budget_warning (
    budget TEXT PRIMARY KEY, -- as it is configured
    since  INTEGER NOT NULL, -- beginning of its period
    event  INTEGER NOT NULL, -- number of thresholds that clients were told
    notice INTEGER NOT NULL  -- number of thresholds that a session was told
) STRICT;
