package historystore

// Path returns where the database is.
func (s *Store) Path() string { return s.path }

// Queued returns how many changes wait to be written.
func (s *Store) Queued() int { return len(s.writer.queue) }
