package historystore

// Path returns the path of the database file, with links resolved.
func (s *Store) Path() string { return s.path }

// Queued returns the number of changes in the writer's queue.
func (s *Store) Queued() int { return len(s.writer.queue) }
