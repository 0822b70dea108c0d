package historystore

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
)

const (
	// queueLength is how many changes can wait to be written; further callers wait to queue.
	queueLength = 256

	// groupLength is how many waiting changes share one commit, and so one fsync.
	groupLength = 64
)

// A job is one change on its way to the disk.
type job struct {
	kinds []string                // for failpoints
	apply func(tx *writeTx) error // writes the change; runs on the writer's goroutine
	alone bool                    // outside of any transaction
	state atomic.Int32            // waiting, then taken by the writer or withdrawn by the caller
	err   error                   // outcome; the writer's
	done  chan error              // buffered; gets the outcome if the job was taken
}

const (
	waiting int32 = iota
	taken
	withdrawn
)

// write queues a change and waits for its outcome. When ctx ends while the change still waits, it is withdrawn and
// ctx's error returned; once the writer has it, the outcome is what counts. So an error always means that nothing was stored.
func (s *Store) write(ctx context.Context, op string, kinds []string, apply func(tx *writeTx) error) error {
	return s.run(ctx, op, &job{kinds: kinds, apply: apply})
}

func (s *Store) run(ctx context.Context, op string, j *job) error {
	leave, err := s.enter(op)
	if err != nil {
		return err
	}
	defer leave()
	if err := ctx.Err(); err != nil {
		return err
	}
	j.done = make(chan error, 1)
	select {
	case s.writer.queue <- j:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err = <-j.done:
	case <-ctx.Done():
		if j.state.CompareAndSwap(waiting, withdrawn) {
			return ctx.Err()
		}
		err = <-j.done
	}
	return translate(s.path, err)
}

// writer owns the only connection that writes. After connect, only its goroutine touches it.
type writer struct {
	db       *sql.DB
	tx       *writeTx
	queue    chan *job
	onCommit func(changes int)
}

func (w *writer) connect(ctx context.Context) error {
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return err
	}
	w.tx = &writeTx{conn: conn, stmts: map[string]*sql.Stmt{}}
	return nil
}

func (w *writer) close() error {
	if w.tx == nil {
		return w.db.Close()
	}
	return errors.Join(w.tx.close(), w.db.Close())
}

// run writes what is queued until the queue is closed and empty.
func (w *writer) run() {
	for j := range w.queue {
		group := w.gather(j)
		last := len(group) - 1
		if last >= 0 && group[last].alone {
			w.commit(group[:last])
			group[last].done <- group[last].apply(w.tx)
			continue
		}
		w.commit(group)
	}
}

// gather takes first and the jobs that wait behind it, up to the length of a group or a job that must run alone.
func (w *writer) gather(first *job) []*job {
	var group []*job
	for j := first; j != nil; j = w.next() {
		if j.state.CompareAndSwap(waiting, taken) {
			group = append(group, j)
		}
		if j.alone || len(group) == groupLength {
			break
		}
	}
	return group
}

// next returns a job that waits already, or nil.
func (w *writer) next() *job {
	select {
	case j := <-w.queue:
		return j
	default:
		return nil
	}
}

// commit writes all jobs in one transaction and tells each its outcome. A job that fails leaves nothing behind and
// does not disturb the others; where it takes the transaction with it, as a full disk does, each job gets its own.
func (w *writer) commit(jobs []*job) {
	if len(jobs) == 0 {
		return
	}
	if _, err := w.tx.exec("BEGIN IMMEDIATE"); err != nil {
		settle(jobs, err)
		answer(jobs)
		return
	}
	if lost := w.applyAll(jobs); lost && len(jobs) > 1 {
		w.rollback()
		for _, j := range jobs {
			w.commit([]*job{j})
		}
		return
	}
	if good := succeeded(jobs); len(good) > 0 {
		w.finish(good)
	} else {
		w.rollback()
	}
	answer(jobs)
}

// finish commits the transaction that holds jobs.
func (w *writer) finish(jobs []*job) {
	hit(jobs, ".before")
	if _, err := w.tx.exec("COMMIT"); err != nil {
		w.rollback()
		settle(jobs, err)
		return
	}
	hit(jobs, ".after")
	w.onCommit(len(jobs))
}

// rollback ends a transaction. Its error could only say that SQLite has ended it already.
func (w *writer) rollback() { w.tx.exec("ROLLBACK") }

// applyAll writes each job within a savepoint of its own. It stops with lost when SQLite gave up the whole transaction.
func (w *writer) applyAll(jobs []*job) (lost bool) {
	for _, j := range jobs {
		if lost, j.err = w.applyOne(j); lost {
			return true
		}
	}
	return false
}

// applyOne notices that the transaction is lost when it cannot go back to the savepoint.
func (w *writer) applyOne(j *job) (lost bool, err error) {
	if _, err := w.tx.exec("SAVEPOINT change"); err != nil {
		return true, err
	}
	if err = j.apply(w.tx); err == nil {
		if _, err = w.tx.exec("RELEASE change"); err == nil {
			return false, nil
		}
	}
	if _, gone := w.tx.exec("ROLLBACK TO change"); gone != nil {
		return true, err
	}
	_, gone := w.tx.exec("RELEASE change")
	return gone != nil, err
}

func succeeded(jobs []*job) (good []*job) {
	for _, j := range jobs {
		if j.err == nil {
			good = append(good, j)
		}
	}
	return good
}

func settle(jobs []*job, err error) {
	for _, j := range jobs {
		j.err = err
	}
}

func answer(jobs []*job) {
	for _, j := range jobs {
		j.done <- j.err
	}
}
