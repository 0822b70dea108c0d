package slash

import (
	"context"
	"slices"
	"sync"
	"time"

	"strata/session/commands"
)

// readTime is the time limit for reading the folders with commands in the background.
const readTime = 5 * time.Second

// Listener is a client that receives the commands of a session. A List calls one method at a time.
type Listener interface {
	// Commands returns the commands of the session, and the skipped files.
	Commands(ctx context.Context) (commands.Set, []commands.Skipped, error)
	// TellCommands sends the commands to the client.
	TellCommands(all []commands.Command)
	// SkippedCommands is called when the skipped files have changed.
	SkippedCommands(skipped []commands.Skipped)
}

// List keeps a client informed of the commands of a session. Safe for concurrent use.
type List struct {
	listener Listener
	run      func(func()) // starts a goroutine

	mu      sync.Mutex
	reading bool // a goroutine reads the folders
	wanted  bool // it must read them again
	always  bool // the commands are sent even if they have not changed

	// These belong to the goroutine that reads.
	told    []commands.Command
	skipped []commands.Skipped
}

// NewList returns the list of a client that has received no commands yet. run starts a goroutine, which ends after the reading
// that the last Update asked for.
func NewList(listener Listener, run func(func())) *List {
	return &List{listener: listener, run: run}
}

// Update reads the commands in the background, and sends them to the client if they have changed or if always is set.
func (l *List) Update(always bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wanted, l.always = true, l.always || always
	if !l.reading {
		l.reading = true
		l.run(l.read)
	}
}

func (l *List) read() {
	for {
		always, wanted := l.next()
		if !wanted {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), readTime)
		set, skipped, err := l.listener.Commands(ctx)
		cancel()
		if err == nil {
			l.tell(set.All(), skipped, always)
		}
	}
}

// next returns whether the folders must be read again; if not, the goroutine that reads must end.
func (l *List) next() (always, wanted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	always, wanted = l.always, l.wanted
	l.always, l.wanted, l.reading = false, false, wanted
	return always, wanted
}

func (l *List) tell(all []commands.Command, skipped []commands.Skipped, always bool) {
	if !slices.Equal(skipped, l.skipped) {
		l.skipped = skipped
		l.listener.SkippedCommands(skipped)
	}
	if always || !slices.Equal(all, l.told) {
		l.told = all
		l.listener.TellCommands(all)
	}
}
