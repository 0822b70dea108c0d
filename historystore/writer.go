package historystore

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"time"

	"strata/historystore/fulltext"
	"strata/historystore/heads"
	"strata/internal/failpoint"
)

const (
	// queueLength is the maximum number of queued changes; more callers block.
	queueLength = 256

	// groupLength is the maximum number of changes in one commit, which needs one fsync.
	groupLength = 64

	// logPages is the number of written pages from which the log is moved into the database while no change waits. At
	// 1,000 pages SQLite does it in a commit, which then takes two more fsyncs.
	logPages = 500
)

// job is a queued change.
type job struct {
	kinds   []string                // for failpoints
	apply   func(tx *writeTx) error // writes the change; runs on the writer's goroutine
	alone   bool                    // outside of any transaction
	patient bool                    // it may wait for a while after the start
	state   atomic.Int32            // waiting, then taken by the writer or withdrawn by the caller
	err     error                   // result; owned by the writer
	done    chan error              // buffered; receives the result if the job was taken
}

const (
	waiting int32 = iota
	taken
	withdrawn
)

// writer owns the only connection that writes. After connect, only its goroutine uses the connection.
type writer struct {
	db       *sql.DB
	tx       *writeTx
	queue    chan *job
	onCommit func(changes int)
	prepare  func() error // returns when changes are allowed, or an error if they never are
	present  func() error // an error if the database file is not there any more
	index    *fulltext.Worker
	heads    *heads.Packer
	packing  bool // until no session has heads to pack
}

func (w *writer) connect(ctx context.Context, busy time.Duration) error {
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return err
	}
	w.tx = &writeTx{conn: conn, stmts: map[string]*sql.Stmt{}, busy: busy}
	return nil
}

func (w *writer) close() error {
	if w.index != nil {
		w.index.Close()
	}
	if w.tx == nil {
		return w.db.Close()
	}
	return errors.Join(w.tx.close(), w.db.Close())
}

// run writes queued jobs until the queue is closed and empty. While the database cannot be prepared, they fail.
func (w *writer) run() {
	for wait := true; ; wait = false {
		first, more := w.firstJobs(wait)
		if len(first) == 0 && !more {
			return
		}
		err := w.prepare()
		if err == nil {
			w.writeAll(first)
			return
		}
		w.refuse(first, err)
	}
}

// firstJobs waits for the first job, for upkeep, or for the end of the queue. If wait is set, patient jobs do not count: the
// check of the database would compete with the first reads. It returns the jobs until then, and whether there can be more.
func (w *writer) firstJobs(wait bool) (jobs []*job, more bool) {
	for {
		select {
		case j, open := <-w.queue:
			if !open {
				return jobs, false
			}
			if jobs = append(jobs, j); wait && j.patient {
				continue
			}
		case done := <-w.index.Asked():
			w.index.StartFor(done)
		case <-w.index.Due():
			w.index.Start()
			w.packing = true
		}
		return jobs, true
	}
}

// refuse lets jobs fail with err, and ends the upkeep.
func (w *writer) refuse(jobs []*job, err error) {
	w.index.GiveUp()
	for _, j := range jobs {
		if j.state.CompareAndSwap(waiting, taken) {
			j.done <- err
		}
	}
}

// writeAll writes the first jobs, and all later ones until the queue is closed and empty.
func (w *writer) writeAll(first []*job) {
	for _, j := range first {
		w.write(j)
	}
	for j, open := w.await(); open; j, open = w.await() {
		w.write(j)
	}
}

// write writes a job together with those that are queued behind it.
func (w *writer) write(j *job) {
	group := w.gather(j)
	last := len(group) - 1
	if last < 0 || !group[last].alone {
		w.commit(group)
		return
	}
	w.commit(group[:last])
	err := w.present()
	if err == nil {
		err = group[last].apply(w.tx)
	}
	group[last].done <- err
}

// await returns the next job, false after the last. While none is queued, it does the upkeep.
func (w *writer) await() (j *job, open bool) {
	for {
		select {
		case j, open = <-w.queue:
			return j, open
		case done := <-w.index.Asked():
			w.index.StartFor(done)
			continue
		default:
		}
		if w.index.Step() || w.packing && w.packStep() {
			continue
		}
		select {
		case j, open = <-w.queue:
			return j, open
		case <-w.index.Due():
			w.index.Start()
			w.packing = true
		case <-w.heads.Due():
			w.index.Changed()
		case done := <-w.index.Asked():
			w.index.StartFor(done)
		}
	}
}

// upkeep does a step of what no change should wait for: it indexes messages and then moves a long log into the database.
func (w *writer) upkeep() (more bool, err error) {
	if more, err = w.indexStep(); more || err != nil {
		return more, err
	}
	if len(w.queue) > 0 {
		return true, nil
	}
	w.moveLog()
	return false, nil
}

// inBackground runs step in a transaction that is not synced: after a power failure it is done again.
func (w *writer) inBackground(name string, step func(tx *writeTx) error) error {
	err := w.present()
	if err == nil {
		err = w.tx.begin(false)
	}
	if err != nil {
		return err
	}
	if err = step(w.tx); err == nil {
		failpoint.Hit(name + ".before")
		_, err = w.tx.exec("COMMIT")
	}
	if err != nil {
		w.rollback()
		return err
	}
	failpoint.Hit(name + ".after")
	return nil
}

// packStep packs some heads of a session. It returns false if none are left to pack.
func (w *writer) packStep() bool {
	w.packing = w.heads.Step(func(pack func(heads.Querier, heads.Exec) error) error {
		return w.inBackground("pack", func(tx *writeTx) error { return pack(tx, tx.exec) })
	})
	if !w.packing {
		w.moveLog()
	}
	return w.packing
}

// moveLog moves the write-ahead log into the database if it is long. It waits for no reader. It ignores errors as SQLite
// does after a commit: the log is complete, and is moved later.
func (w *writer) moveLog() {
	if w.tx.written(false) < logPages {
		return
	}
	if _, err := w.tx.conn.ExecContext(background, "PRAGMA wal_checkpoint(PASSIVE)"); err == nil {
		w.tx.written(true)
	}
}

// gather returns first and the jobs queued after it, up to groupLength or to a job that must run alone.
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

// next returns a queued job, or nil if there is none.
func (w *writer) next() *job {
	select {
	case j := <-w.queue:
		return j
	default:
		return nil
	}
}

// commit writes all jobs in one transaction and sends each its result. A job that fails is rolled back without effect on
// the others. If it aborts the whole transaction, as a full disk does, commit writes each job in its own transaction.
func (w *writer) commit(jobs []*job) {
	if len(jobs) == 0 {
		return
	}
	err := w.present()
	if err == nil {
		err = w.tx.begin(true)
	}
	if err != nil {
		setErrors(jobs, err)
		sendResults(jobs)
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
	sendResults(jobs)
}

// finish commits the transaction of jobs.
func (w *writer) finish(jobs []*job) {
	hit(jobs, ".before")
	if _, err := w.tx.exec("COMMIT"); err != nil {
		w.rollback()
		setErrors(jobs, err)
		return
	}
	hit(jobs, ".after")
	w.index.Changed()
	w.onCommit(len(jobs))
}

// rollback ends a transaction. It ignores the error, which means that SQLite has already ended it.
func (w *writer) rollback() { w.tx.exec("ROLLBACK") }

// applyAll writes each job in its own savepoint. It stops and returns true if SQLite aborts the whole transaction.
func (w *writer) applyAll(jobs []*job) (lost bool) {
	for _, j := range jobs {
		if lost, j.err = w.applyOne(j); lost {
			return true
		}
	}
	return false
}

// applyOne writes a job. The transaction is lost if it cannot roll back to the savepoint.
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

// setErrors sets the result of all jobs to err.
func setErrors(jobs []*job, err error) {
	for _, j := range jobs {
		j.err = err
	}
}

// sendResults sends each job its result.
func sendResults(jobs []*job) {
	for _, j := range jobs {
		j.done <- j.err
	}
}

func hit(jobs []*job, when string) {
	failpoint.Hit("commit" + when)
	for _, j := range jobs {
		for _, kind := range j.kinds {
			failpoint.Hit(kind + when)
		}
	}
}
