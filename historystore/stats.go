package historystore

import (
	"context"
	"database/sql"
	"fmt"

	"strata/historystore/disk"
)

// Path returns the path of the database file, with links resolved.
func (s *Store) Path() string { return s.path }

// Queued returns the number of changes in the writer's queue.
func (s *Store) Queued() int { return len(s.writer.queue) }

// Stats are the sizes of a store.
type Stats struct {
	Path     string
	Bytes    int64 // of the database file
	WALBytes int64 // of the write-ahead log
	Sessions int   // including deleted ones that are not purged
	Messages int   // of those sessions
}

// Stats returns the current sizes.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	stats := Stats{Path: s.path}
	err := s.view(ctx, "stats", func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT count(*), coalesce(sum(messages), 0) FROM session").Scan(&stats.Sessions, &stats.Messages)
	})
	if err == nil {
		stats.Bytes, err = disk.Size(s.path)
	}
	if err == nil {
		stats.WALBytes, err = disk.Size(s.path + "-wal")
	}
	if err != nil {
		return Stats{}, fmt.Errorf("database stats: %w", err)
	}
	return stats, nil
}
