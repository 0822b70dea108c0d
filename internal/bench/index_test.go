package bench

import (
	"testing"
	"time"

	"strata/internal/binary"
	"strata/internal/sourcetree"
)

// Sizes of the measurements of the index of a workspace.
const (
	indexedFiles    = 5000
	promptsMeantime = 10 // during the first index, and as many in an empty folder
	secondStarts    = 7
	indexedPrompts  = 15 // after the first index, of each kind
)

// pauseMeantime is the time between the prompts during the first index.
const pauseMeantime = 300 * time.Millisecond

// measureIndex measures the index of a workspace in six languages, and prompts in that workspace. The reference is the same
// server in an empty folder.
func measureIndex(b *testing.B) []row {
	folder := b.TempDir()
	must(sourcetree.Write(folder, indexedFiles))(b)
	server := binary.Start(b, binary.NewHome(b, "listen: 127.0.0.1:0\n"), binary.Options{})
	rows := firstIndex(b, server, folder)
	server.Stop()
	rows = append(rows, secondIndex(b, server, folder)...)
	return append(rows, promptsInWorkspace(b, server, folder)...)
}

// firstIndex measures the first index of a folder by a server that has a new database and no compiled parsers.
func firstIndex(b *testing.B, server *binary.Server, folder string) []row {
	b.Helper()
	e := connect(b, server.Info)
	defer e.Close()
	used, start := computed(b, server.PID), time.Now()
	indexed := e.indexes(b, folder)
	during := meantime(b, e, folder, indexed)
	wall := (<-indexed).Sub(start)
	processor, peak := used(), memory(b, server.PID, "VmHWM")
	empty := meantime(b, e, server.Home.Project, nil)

	const of = "in an empty folder"
	first := pairs{during.first, empty.first[:len(during.first)]}
	later := pairs{during.later, empty.later[:len(during.later)]}
	return []row{
		alone("first index of 5,000 files", nanoseconds, float64(wall), float64(time.Minute)),
		alone("  its processor time", nanoseconds, processor, 0),
		alone("  peak of resident memory", mebibytes, peak, 400<<20),
		first.difference("first prompt of a session meanwhile", nanoseconds, of, float64(500*time.Millisecond)),
		later.difference("second prompt of a session meanwhile", nanoseconds, of, float64(100*time.Millisecond)),
	}
}

// prompts are the times until the first text of the replies.
type prompts struct{ first, later []float64 }

// meantime measures the first two prompts of new sessions in a folder, until it is indexed.
func meantime(b *testing.B, e *editor, folder string, indexed <-chan time.Time) (p prompts) {
	b.Helper()
	for range promptsMeantime {
		session := e.newSession(b, folder)
		first, later := e.reply(b, session), e.reply(b, session)
		if len(indexed) > 0 {
			break
		}
		p.first, p.later = append(p.first, first), append(p.later, later)
		time.Sleep(pauseMeantime)
	}
	return p
}

// secondIndex measures starts of the server until the index of a folder that it has indexed before is complete, and then the
// first prompt after a file has changed, for which the parsers are loaded. The server runs at the end.
func secondIndex(b *testing.B, server *binary.Server, folder string) []row {
	b.Helper()
	var walls, peaks, loads []float64
	for n := range secondStarts {
		if n > 0 {
			server.Stop()
		}
		start := time.Now()
		server.Restart(binary.Options{})
		e := connect(b, server.Info)
		walls = append(walls, float64((<-e.indexes(b, folder)).Sub(start)))
		peaks = append(peaks, memory(b, server.PID, "VmHWM"))
		session := e.newSession(b, folder)
		e.reply(b, session)
		must(0, sourcetree.Change(folder, indexedFiles-1-n))(b)
		loads = append(loads, e.reply(b, session))
		e.Close()
	}
	return []row{
		alone("second start, to a complete index", nanoseconds, median(walls), float64(2*time.Second)),
		alone("  peak of resident memory", mebibytes, median(peaks), 0),
		alone("  first prompt after a file has changed", nanoseconds, median(loads), float64(time.Second)),
	}
}

// promptsInWorkspace measures prompts in an indexed folder.
func promptsInWorkspace(b *testing.B, server *binary.Server, folder string) []row {
	b.Helper()
	e := connect(b, server.Info)
	defer e.Close()
	in := func(folder string) func() float64 {
		session := e.newSession(b, folder)
		e.reply(b, session) // its first request has no history, and has to choose outlines
		return func() float64 { return e.reply(b, session) }
	}
	ours, theirs := in(folder), in(server.Home.Project)
	unchanged := takeTurns(indexedPrompts, ours, theirs)
	edits := 0
	changed := takeTurns(indexedPrompts, func() float64 {
		must(0, sourcetree.Change(folder, edits))(b)
		edits++
		return ours()
	}, theirs)
	const of = "in an empty folder"
	return []row{
		unchanged.difference("prompt in the indexed folder", nanoseconds, of, float64(250*time.Millisecond)),
		changed.difference("  after a file has changed", nanoseconds, of, float64(500*time.Millisecond)),
	}
}

// indexes opens a folder in a new session and returns a channel that gets the time when the folder's index is complete.
func (e *editor) indexes(b *testing.B, folder string) <-chan time.Time {
	b.Helper()
	complete := make(chan time.Time, 1)
	e.mu.Lock()
	e.complete = complete
	e.mu.Unlock()
	e.call(b, "_strata/session/attach", map[string]any{"sessionId": e.newSession(b, folder)}, nil)
	return complete
}

// reply sends a prompt and returns the time until the first text of the reply.
func (e *editor) reply(b *testing.B, session string) float64 {
	b.Helper()
	start := time.Now()
	if err := e.prompt(session, "Where is the total of the cart?"); err != nil {
		b.Fatal(err)
	}
	_, first := e.said()
	return float64(first.Sub(start))
}
