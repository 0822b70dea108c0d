package saving

import (
	"time"

	"strata/history"
)

// The pace at which the text of a running reply is put on disk, after its first words, which are saved at once.
const (
	PartialEvery = 250 * time.Millisecond
	PartialBytes = 4 << 10
)

// Partial saves the text of a running reply while it arrives, in chunks. At most one save is under way. It belongs to the
// goroutine that runs what Owner.Tell is given.
type Partial struct {
	turn    string
	message string
	owner   Owner
	save    func(history.Partial) error
	failed  func(error)

	chunks  []history.Partial // waiting; adjacent text of one kind is one chunk
	bytes   int
	n       int         // next chunk's number
	timer   *time.Timer // of the next save; nil for none
	begun   bool        // a save was tried
	saving  bool
	failing bool // the last save failed: the next one waits for its time
	stopped bool
}

// Owner runs what a Partial gives it.
type Owner interface {
	// Spawn runs work on a goroutine of its own.
	Spawn(work func())
	// Tell runs a job on the owner's goroutine. It reports false, or calls fail, if that runs no more jobs.
	Tell(run func(), fail func(error)) bool
}

// NewPartial returns a Partial for a message of a turn. save stores a chunk; failed is told of the first failure in a row.
func NewPartial(turn, message string, owner Owner, save func(history.Partial) error, failed func(error)) *Partial {
	return &Partial{turn: turn, message: message, owner: owner, save: save, failed: failed}
}

// Add adds text of the reply, and saves if enough of it waits; otherwise it will be saved in time.
func (p *Partial) Add(kind history.BlockType, text string) {
	p.add(kind, text)
	p.pace()
}

// Stop ends the saves. One that is under way is not awaited.
func (p *Partial) Stop() {
	p.stopped = true
	p.stopTimer()
}

// add adds text. A chunk does not grow once a save of it was tried: it may be on disk although that failed.
func (p *Partial) add(kind history.BlockType, text string) {
	p.bytes += len(text)
	last := len(p.chunks) - 1
	tried := (p.saving || p.failing) && last == 0
	if last >= 0 && p.chunks[last].Kind == kind && len(p.chunks[last].Text) < PartialBytes && !tried {
		p.chunks[last].Text += text
		return
	}
	p.chunks = append(p.chunks, history.Partial{Turn: p.turn, Message: p.message, N: p.n, Kind: kind, Text: text})
	p.n++
}

// pace saves now if enough waits, and otherwise in time.
func (p *Partial) pace() {
	switch {
	case p.stopped || p.saving || len(p.chunks) == 0:
	case !p.begun || p.bytes >= PartialBytes && !p.failing:
		p.saveNext()
	case p.timer == nil:
		p.timer = time.AfterFunc(PartialEvery, func() { p.owner.Tell(p.due, nil) })
	}
}

func (p *Partial) due() {
	p.stopTimer()
	if !p.stopped && !p.saving && len(p.chunks) > 0 {
		p.saveNext()
	}
}

func (p *Partial) stopTimer() {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
}

// saveNext saves the oldest chunk.
func (p *Partial) saveNext() {
	p.stopTimer()
	p.begun, p.saving = true, true
	chunk := p.chunks[0]
	p.owner.Spawn(func() {
		err := p.save(chunk)
		p.owner.Tell(func() { p.saved(err) }, nil)
	})
}

// saved goes on after a save. A chunk that could not be saved is saved again when it is time for the next one.
func (p *Partial) saved(err error) {
	if err != nil && !p.stopped && !p.failing {
		p.failed(err)
	}
	if p.saving, p.failing = false, err != nil; err == nil {
		p.bytes -= len(p.chunks[0].Text)
		p.chunks = p.chunks[1:]
	}
	p.pace()
}
