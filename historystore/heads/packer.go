package heads

import (
	"context"
	"log/slog"
	"sync"

	"strata/history"
)

const (
	// packFrom is the number of unpacked heads from which a session is packed. Fewer are read quickly as rows.
	packFrom = 512

	// maxSessions bounds the sessions whose unpacked heads are counted. Beyond it the counts are forgotten: those sessions
	// are packed after a later load.
	maxSessions = 4096
)

// backlog is what a session has not packed.
type backlog struct {
	unpacked int  // about how many heads
	due      bool // it is in Packer.due
	invalid  bool // the blocks after valid cannot be used
	valid    int64
}

// Packer knows which sessions have many unpacked heads, and packs them. It has no goroutine: Step belongs to the goroutine
// of the writer, which calls it while nothing else waits; all other methods are safe for concurrent use.
type Packer struct {
	log  *slog.Logger
	wake chan struct{}

	mu       sync.Mutex
	sessions map[string]*backlog
	due      []string
	failed   bool // the last step
}

// NewPacker returns a packer that knows of no session.
func NewPacker(log *slog.Logger) *Packer {
	return &Packer{log: log, wake: make(chan struct{}, 1), sessions: map[string]*backlog{}}
}

// Due returns the channel that tells that a session is due.
func (p *Packer) Due() <-chan struct{} { return p.wake }

// Stored counts messages of a session that were stored.
func (p *Packer) Stored(session string, messages int) {
	if messages == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.of(session)
	b.unpacked += messages
	p.check(session, b)
}

// Loaded notes the result of loading a session, and logs a fault of its blocks.
func (p *Packer) Loaded(session string, found Found) {
	if found.Fault != nil {
		p.log.Warn("packed heads of messages are ignored; they are read from the messages", "session", session, "err", found.Fault)
	}
	if found.Fault == nil && found.Unpacked == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.of(session)
	b.unpacked = found.Unpacked
	if found.Fault != nil {
		b.invalid, b.valid = true, found.valid
	}
	p.check(session, b)
}

// of returns the backlog of a session.
func (p *Packer) of(session string) *backlog {
	b := p.sessions[session]
	if b == nil {
		if len(p.sessions) >= maxSessions {
			clear(p.sessions)
			p.due = nil
		}
		b = &backlog{}
		p.sessions[session] = b
	}
	return b
}

// check makes a session due if it has a lot to pack.
func (p *Packer) check(session string, b *backlog) {
	if b.due || b.unpacked < packFrom && !b.invalid {
		return
	}
	b.due = true
	p.due = append(p.due, session)
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// next returns the session that is packed next.
func (p *Packer) next() (session string, b backlog, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.due) == 0 {
		return "", b, false
	}
	return p.due[0], *p.sessions[p.due[0]], true
}

// done takes over the result of a step for the session that is packed next. After a failure it is due again when more of
// it is stored, or when it is loaded.
func (p *Packer) done(session string, packed, left int, more bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil && !p.failed {
		p.log.Warn("heads of messages cannot be packed", "session", session, "err", err)
	}
	p.failed = err != nil
	b := p.sessions[session]
	if b == nil || len(p.due) == 0 || p.due[0] != session { // forgotten
		return
	}
	if more {
		b.unpacked, b.invalid = b.unpacked-packed, false
		return
	}
	if err == nil {
		b.unpacked, b.invalid = left, false
	}
	b.due = false
	p.due = p.due[1:]
}

// Exec runs a statement and returns the number of changed rows.
type Exec func(query string, args ...any) (int64, error)

// Step packs a block of the session that is due for the longest time, in the transaction in which inside runs its argument.
// It returns false if no session is due.
func (p *Packer) Step(inside func(pack func(Querier, Exec) error) error) bool {
	session, b, ok := p.next()
	if !ok {
		return false
	}
	var packed, left int
	var more bool
	err := inside(func(q Querier, exec Exec) (err error) {
		if b.invalid {
			if _, err := exec("DELETE FROM head_block WHERE session = ? AND first_seq > ?", session, b.valid); err != nil {
				return err
			}
		}
		packed, left, more, err = pack(q, exec, session)
		return err
	})
	p.done(session, packed, left, more && err == nil, err)
	return true
}

// pack packs the heads after the last block, if they fill a block. It returns how many it packed, how many are known to be
// left, and whether there can be more to pack.
func pack(q Querier, exec Exec, session string) (packed, left int, more bool, err error) {
	some, full, err := unpacked(q, session)
	if err != nil || !full {
		return 0, len(some), false, err
	}
	_, err = exec("INSERT INTO head_block (session, first_seq, last_seq, heads) VALUES (?, ?, ?, ?)",
		session, some[0].Seq, some[len(some)-1].Seq, encode(session, some))
	return len(some), 0, true, err
}

// unpacked returns the first heads after the last block, and whether they fill a block.
func unpacked(q Querier, session string) (some []history.Head, full bool, err error) {
	rows, err := q.QueryContext(context.Background(), "SELECT "+Columns+` FROM message WHERE session = ?1 AND seq >
		coalesce((SELECT last_seq FROM head_block WHERE session = ?1 ORDER BY first_seq DESC LIMIT 1), 0) ORDER BY seq LIMIT ?2`,
		session, blockHeads)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	scan, bytes := Scanner(), 0
	for !full && rows.Next() {
		h, err := scan(rows)
		if err != nil {
			return nil, false, err
		}
		some = append(some, h)
		bytes += len(h.ID) + len(h.Turn) + len(h.Role) + len(h.Status)
		full = len(some) == blockHeads || bytes >= blockBytes
	}
	return some, full, rows.Err()
}
