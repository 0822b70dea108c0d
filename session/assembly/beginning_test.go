package assembly

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"strata/filecontext"
	"strata/history"
	"strata/llm"
	"strata/llm/reply"
	"strata/session/content"
	"strata/session/fit"
	"strata/stability"
	"strata/tokens"
)

// sessionWalk changes a session at random: messages, edits of the view, files, documents, models, restarts.
type sessionWalk struct {
	t       *testing.T
	r       *rand.Rand
	stored  *talk
	log     *history.Log
	state   State
	options stability.Options
	layout  history.Layout
	edits   []string // ids of those that can be undone
	seq     int64
	n       int // for names
}

func newSessionWalk(t *testing.T, seed uint64) *sessionWalk {
	w := &sessionWalk{t: t, r: rand.New(rand.NewPCG(seed, 9)), stored: &talk{blobs: make(map[string][]byte)}, log: history.NewLog(nil, nil)}
	w.options.Layout = []string{stability.LayoutLog, stability.LayoutLog, stability.LayoutRipple}[seed%3]
	w.state = stateOf(t, w.stored, w.options)
	w.state.Model.Window = []int{6_000, 40_000}[w.r.IntN(2)]
	w.state.Model.Vision = true
	w.state.Beginning = NewBeginnings().New()
	return w
}

// say adds a message to the transcript.
func (w *sessionWalk) say(role history.Role, blocks ...history.Block) {
	w.seq++
	m := history.Message{ID: fmt.Sprint("msg_", w.seq), Seq: w.seq, Role: role, Blocks: blocks, Model: w.state.Model.Name}
	if err := content.Measure(w.t.Context(), w.state.Counter, []history.Message{m}); err != nil {
		w.t.Fatal(err)
	}
	m.Tokens = content.Tokens(w.t.Context(), w.state.Counter, blocks)
	for len(w.stored.messages) < int(w.seq)-1 {
		w.stored.messages = append(w.stored.messages, history.Message{}) // edits have numbers too
	}
	w.stored.messages = append(w.stored.messages, m)
	w.log.Append(m.Head(content.Bytes(blocks)))
}

func (w *sessionWalk) words(most int) history.Block {
	w.n++
	return history.Block{Type: history.BlockText, Text: fmt.Sprint("<", w.n, "> 日本語のテキストです ", words(1+w.r.IntN(most)))}
}

// edit applies an edit of the view.
func (w *sessionWalk) edit(e history.Edit) {
	w.seq++
	e.ID, e.Seq = fmt.Sprint("edit_", w.seq), w.seq
	w.log.Apply(e)
	if e.Kind != history.EditRestore {
		w.edits = append(w.edits, e.ID)
	}
}

// act makes one random change.
func (w *sessionWalk) act() {
	view := w.log.View()
	switch w.r.IntN(22) {
	case 0, 1: // calls, of which some have no result
		w.n++
		ids := []string{fmt.Sprint("call_", w.n, "a"), fmt.Sprint("call_", w.n, "b")}
		w.say(history.RoleAssistant, w.words(5), history.Block{Type: history.BlockToolCall, CallID: ids[0], Name: "look", Args: "{}"},
			history.Block{Type: history.BlockToolCall, CallID: ids[1], Name: "look", Args: `{"a":1}`})
		if w.r.IntN(2) == 0 {
			ids[0] = "call_of_none" // its result is sent as text
		}
		for _, id := range ids[:w.r.IntN(3)] {
			w.say(history.RoleTool, history.Block{Type: history.BlockToolResult, CallID: id, Content: []history.Block{w.words(30)}})
		}
	case 2:
		w.say(history.RoleUser, w.words(10), history.Block{Type: history.BlockImage, MIME: "image/png", Data: bytes.Repeat([]byte{1}, 1+w.r.IntN(5000)), Width: 10, Height: 10})
		w.say(history.RoleAssistant, w.words(5))
	case 3, 4: // an edit patches a message
		if len(view) > 0 {
			v := view[w.r.IntN(len(view))]
			p := history.Patch{Message: v.ID, Text: fmt.Sprint("patched ", w.r.IntN(3)), Saved: w.r.IntN(3), Origin: fit.ReasonTruncated}
			w.edit(history.Edit{Kind: []history.EditKind{history.EditTruncate, history.EditDedupe}[w.r.IntN(2)], Patches: []history.Patch{p}})
		}
	case 5: // a message leaves
		if len(view) > 0 {
			w.edit(history.Edit{Kind: history.EditTruncate, Messages: []string{view[w.r.IntN(len(view))].ID}})
		}
	case 6:
		if n := len(view); n > 4 {
			e := history.Edit{Kind: history.EditCompact, Summary: fmt.Sprint("summary ", w.n), SummaryTokens: 10}
			for _, v := range view[:w.r.IntN(n-2)] {
				e.Messages = append(e.Messages, v.ID)
			}
			w.edit(e)
		}
	case 7:
		if w.r.IntN(4) == 0 {
			w.edit(history.Edit{Kind: history.EditClear})
		}
	case 8: // an edit is undone
		if n := len(w.edits); n > 0 {
			w.edit(history.Edit{Kind: history.EditRestore, Undoes: w.edits[n-1]})
			w.edits = w.edits[:n-1]
		}
	case 9: // an earlier state
		if w.seq > 3 {
			w.edit(history.Edit{Kind: history.EditRestore, To: w.seq - 1 - w.r.Int64N(3)})
		}
	case 10, 11, 12:
		path := fmt.Sprint(w.r.IntN(4), ".go")
		files := slices.DeleteFunc(slices.Clone(w.state.Files), func(e filecontext.Entry) bool { return e.Path == path })
		if w.r.IntN(4) > 0 {
			w.n++
			files = append(files, unsaved(path, strings.Repeat("a line\n", 20)+fmt.Sprint(w.n)))
		}
		w.state.Files = files
	case 13:
		w.n++
		w.state.Documents = []history.Document{{Name: "design", Text: fmt.Sprint("v", w.n, words(20)), Priority: 80, Pinned: true}}
	case 14, 15:
		m := &w.state.Model
		switch w.r.IntN(5) {
		case 0:
			m.Vision = !m.Vision
		case 1:
			m.Marks = !m.Marks
		case 2:
			m.Window = []int{6_000, 12_000, 40_000}[w.r.IntN(3)]
		case 3:
			m.Name = []string{"local/test", "claude/a"}[w.r.IntN(2)]
		case 4:
			w.state.Counter = tokens.For([]string{tokens.O200k, tokens.CL100k}[w.r.IntN(2)])
		}
	case 16: // a restart
		if len(w.layout.Head) > 0 {
			layout, err := NewLayout(w.options, w.layout, func(cache string) *stability.Mirror { return w.state.Mirrors.Of(cache, w.state.Now()) })
			if err != nil {
				w.t.Fatal(err)
			}
			w.state.Layout, w.state.Cache, w.state.Diffs, w.state.Pictures = layout, new(fit.RenderCache), new(Diffs), new(content.Gallery)
			w.log = history.NewLog(slices.Clone(w.log.Transcript()), slices.Clone(w.log.Edits()))
		}
	default:
		w.say(history.RoleUser, w.words(60))
		w.say(history.RoleAssistant, w.words(60))
	}
}

// now returns the state of the session.
func (w *sessionWalk) now() State {
	s := w.state
	s.View, s.Summary, s.Omitted, s.Evicted, s.Truncated = w.log.View(), w.log.Summary(), w.log.Omitted(), w.log.Shed(), w.log.Documents()
	s.Exchanges, s.HistoryTokens = w.log.Exchanges(), w.log.Tokens()
	return s
}

// answered lets the provider answer a request, and stores what it changes.
func (w *sessionWalk) answered(b *Built) {
	b.Mirror.Answered(b.Plan, stability.Usage{Write: b.Plan.Tokens, Input: b.Plan.Tokens})
	var change history.Change
	if err := w.state.Layout.Answered(b, &change); err != nil {
		w.t.Fatal(err)
	}
	w.state.Layout.Stored()
	for _, blob := range change.Blobs {
		w.stored.blobs[blob.Hash] = blob.Bytes
	}
	w.layout = history.Layout{Head: change.Layout.Head, Rows: w.state.Layout.rows.rows}
	for _, e := range b.Changes.Edits() {
		w.edit(e)
	}
	w.say(history.RoleAssistant, w.words(40))
}

// bodies returns the bodies that a client sends of a request.
func bodies(t *testing.T, req llm.Request) (sent []string) {
	t.Helper()
	record := &recorder{}
	client, err := llm.New(llm.Options{
		Providers: map[string]llm.ProviderConfig{"local": {Kind: llm.OpenAI, BaseURL: "http://127.0.0.1:1"}, "claude": {Kind: llm.Anthropic, BaseURL: "http://127.0.0.1:1"}},
		Transport: record, Sleep: func(_ context.Context, _ time.Duration) error { return errors.New("no further attempt") },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Stream(t.Context(), req, func(reply.Event) {}); err == nil {
		t.Fatal("a reply without a server")
	}
	return record.sent
}

type recorder struct{ sent []string }

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.sent = append(r.sent, string(body))
	return nil, errors.New("no network")
}

// comparable returns what two equal requests have in common: not what they share with the session.
func comparable(b Built) Built {
	p := b.Plan
	b.Mirror, b.Request.Encoded = nil, nil
	b.Plan = &stability.Plan{
		Entries: p.Entries, Kept: p.Kept, Tokens: p.Tokens, Dead: p.Dead, Expect: p.Expect, ExpectBlocks: p.ExpectBlocks, Cut: p.Cut, Long: p.Long,
	}
	return b
}

// A request that is built after what was kept of the one before is the same as one that is built from nothing, byte for
// byte, whatever changed in between.
func TestWhatIsKeptChangesNoRequest(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newSessionWalk(t, seed)
			for step := range 60 {
				for range 1 + w.r.IntN(3) {
					w.act()
				}
				w.say(history.RoleUser, w.words(20))
				state := w.now()
				got, err := state.Build(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				state.Beginning = nil
				state.Pictures = new(content.Gallery)
				want, err := state.Build(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				sent, expected := bodies(t, got.Request), bodies(t, want.Request)
				if !reflect.DeepEqual(comparable(got), comparable(want)) {
					all := cmp.Exporter(func(reflect.Type) bool { return true })
					t.Fatalf("step %d: the request (-anew +kept):\n%s", step, cmp.Diff(comparable(want), comparable(got), all))
				}
				if diff := cmp.Diff(expected, sent); diff != "" || len(sent) == 0 {
					t.Fatalf("step %d: the bytes (-anew +kept):\n%s", step, diff)
				}
				if w.r.IntN(8) > 0 {
					w.answered(&got)
				}
			}
		})
	}
}

// Requests of one session can be built at the same time.
func TestRequestsBuiltAtTheSameTime(t *testing.T) {
	stored := begun("hello")
	s := stateOf(t, stored, stability.Options{})
	s.Beginning = NewBeginnings().New()
	for turn := range 30 {
		replied(&s, stored, fmt.Sprint("prompt ", turn))
		short := s
		short.View = s.View[:len(s.View)-2]
		var all sync.WaitGroup
		texts := make([]string, 4)
		for i := range texts {
			state := []State{s, short}[i%2]
			all.Go(func() {
				b, err := state.Build(t.Context())
				if err != nil {
					t.Error(err)
				}
				texts[i] = textOf(&b)
			})
		}
		all.Wait()
		if texts[0] != texts[2] || texts[1] != texts[3] || !strings.HasPrefix(texts[0], texts[1]) {
			t.Fatalf("turn %d: %q", turn, texts)
		}
	}
}

// What is kept of all sessions has a limit, and what was not used for some time is dropped.
func TestWhatIsKeptHasALimit(t *testing.T) {
	all := &Beginnings{limit: 400_000}
	var sessions []State
	for range 6 {
		stored := begun("hello")
		s := stateOf(t, stored, stability.Options{})
		s.Beginning = all.New()
		for n := range 10 {
			replied(&s, stored, fmt.Sprint(n, words(1000)))
		}
		sessions = append(sessions, s)
	}
	build := func(s *State) {
		t.Helper()
		b, err := s.Build(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		bodies(t, b.Request)
		sum := 0
		for i := range sessions {
			sum += sessions[i].Beginning.Size()
		}
		if sum != all.bytes || sum > all.limit || sum == 0 {
			t.Errorf("%d bytes are kept, %d are counted", sum, all.bytes)
		}
	}
	for i := range sessions {
		build(&sessions[i])
	}
	if sessions[0].Beginning.Size() > 0 || sessions[5].Beginning.Size() == 0 {
		t.Errorf("the oldest has %d bytes, the newest %d", sessions[0].Beginning.Size(), sessions[5].Beginning.Size())
	}
	all.dropIdle()
	build(&sessions[0])
	all.dropIdle()
	if sessions[0].Beginning.Size() == 0 || sessions[5].Beginning.Size() > 0 {
		t.Errorf("the used one has %d bytes, the idle one %d", sessions[0].Beginning.Size(), sessions[5].Beginning.Size())
	}
	all.dropIdle()
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.bytes != 0 || all.used.Len() != 0 || all.sweep != nil {
		t.Errorf("%d bytes of %d sessions are kept of idle ones", all.bytes, all.used.Len())
	}
}
