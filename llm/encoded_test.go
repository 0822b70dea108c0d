package llm

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"strata/history"
)

// conversationWalk changes the entries of a conversation at random, like a session does: most steps append.
type conversationWalk struct {
	random  *rand.Rand
	entries []Entry
	n       int // for names
}

// step changes the entries.
func (w *conversationWalk) step() {
	switch w.random.IntN(15) {
	case 3: // the same content of another kind or author
		if n := len(w.entries); n > 0 {
			w.entries = slices.Clone(w.entries)
			e := &w.entries[w.random.IntN(n)]
			switch w.random.IntN(3) {
			case 0:
				e.Model = []string{"", "claude/a", "local/x"}[w.random.IntN(3)]
			case 1:
				e.Kind = EntryKind(w.random.IntN(3))
			case 2:
				e.Role = []history.Role{history.RoleUser, history.RoleAssistant}[w.random.IntN(2)]
			}
		}
	case 0: // a cut
		w.entries = slices.Clone(w.entries[:w.random.IntN(len(w.entries)+1)])
	case 1: // an edit
		if n := len(w.entries); n > 0 {
			w.entries = slices.Clone(w.entries)
			w.entries[w.random.IntN(n)] = w.entry()
		}
	case 2: // a message leaves
		if n := len(w.entries); n > 0 {
			at := w.random.IntN(n)
			w.entries = slices.Delete(slices.Clone(w.entries), at, at+1)
		}
	default:
		w.entries = slices.Clip(w.entries)
		for range 1 + w.random.IntN(4) {
			w.entries = append(w.entries, w.entry())
		}
	}
}

// entry returns a random entry, in most cases one that is usual.
func (w *conversationWalk) entry() Entry {
	w.n++
	words := fmt.Sprintf("<words> %d \u2028 é", w.n)
	switch w.random.IntN(8) {
	case 0:
		if all := randomEntries(w.random); len(all) > 0 {
			return all[0]
		}
	case 1:
		return note(words)
	case 2, 3, 4:
		return user(words)
	case 5:
		call := history.Block{Type: history.BlockToolCall, CallID: fmt.Sprint("call_", w.random.IntN(20)), Name: "a", Args: `{"a":"<b>"}`}
		if w.random.IntN(2) == 0 {
			call.Origin = &history.Origin{ID: fmt.Sprint("own_", w.random.IntN(5)), Extra: []byte(`{"more": {"of": "<it>"}, "function": {"x": 1}}`)}
		}
		e := message(history.RoleAssistant, text(words), call)
		e.Model = []string{"", "claude/a", "local/x"}[w.random.IntN(3)]
		return e
	case 6:
		return message(history.RoleTool, result(fmt.Sprint("call_", w.random.IntN(20)), words))
	}
	e := message(history.RoleAssistant, history.Block{Type: history.BlockThinking, Text: "hm", Signature: "seal"}, text(words))
	e.Model = []string{"", "claude/a", "local/x"}[w.random.IntN(3)]
	return e
}

// marked returns the entries with marks on a few of them.
func (w *conversationWalk) marked() []Entry {
	entries := slices.Clone(w.entries)
	for i := range entries {
		if entries[i].Mark = MarkNone; w.random.IntN(4) == 0 {
			entries[i].Mark = Mark(w.random.IntN(3))
		}
	}
	return entries
}

// A request that is encoded after its kept beginning has the same bytes as one that is encoded as a whole, whatever changed
// since the request before: entries, marks, model, tools, or what the provider takes.
func TestAKeptBeginningChangesNoByte(t *testing.T) {
	continued := 0
	for seed := range uint64(120) {
		w := conversationWalk{random: rand.New(rand.NewPCG(seed, 5))}
		for range w.random.IntN(3) {
			w.entries = append(w.entries, Entry{Kind: EntrySystem, Blocks: []history.Block{text("be brief"), text(" ")}})
		}
		kept := map[Kind]*Encoded{Anthropic: new(Encoded), OpenAI: new(Encoded)}
		models := []Model{{ID: "a", Name: "claude/a", Vision: true}, {ID: "x", Name: "local/x"}}
		dialects := map[Kind]dialect{}
		for _, kind := range []Kind{Anthropic, OpenAI} {
			dialects[kind] = dialectOf(ProviderConfig{Kind: kind}, models[0])
		}
		model, tools := models[0], []Tool{{Name: "a"}}
		for step := range 40 {
			w.step()
			switch w.random.IntN(30) {
			case 0:
				model = models[w.random.IntN(2)]
			case 1:
				tools = []Tool{{Name: "a"}, {Name: "b"}}[:w.random.IntN(3)]
			case 2:
				for kind, d := range dialects {
					d.system, d.userAfterTool, d.shortIDs = w.random.IntN(2) == 0, w.random.IntN(2) == 0, w.random.IntN(2) == 0
					d.cacheTTL, d.cacheMarks = w.random.IntN(4) > 0, w.random.IntN(4) > 0
					d.thinkingBack = []ThinkingBack{ThinkingNone, ThinkingOfTurn, ThinkingAlways}[w.random.IntN(3)]
					dialects[kind] = d
				}
			}
			req := Request{Entries: w.marked(), Tools: tools, MaxOutput: 100}
			for kind, encode := range map[Kind]func(Request, Model, dialect) ([]byte, error){Anthropic: anthropicBody, OpenAI: openAIBody} {
				want, err := encode(req, model, dialects[kind])
				if err != nil {
					t.Fatal(err)
				}
				after := req
				after.Encoded = kept[kind]
				before := len(after.Encoded.kept.entries)
				got, err := encode(after, model, dialects[kind])
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("seed %d, step %d, %s, %d entries kept, %v:\n%s\nwant\n%s", seed, step, kind, before, err, got, want)
				}
				if before > 0 && len(after.Encoded.kept.entries) > before {
					continued++
				}
			}
		}
	}
	if continued < 1000 {
		t.Errorf("%d requests continued a kept beginning", continued)
	}
}

// The next request of a long conversation encodes what is new.
func TestTheNextRequestEncodesWhatIsNew(t *testing.T) {
	model := Model{ID: "m"}
	for _, exchanges := range []int{10, 1000} {
		entries := append(talk(exchanges, 1), user("go on"))
		kept := new(Encoded)
		for _, n := range []int{len(entries) - 2, len(entries)} {
			req := Request{Entries: entries[:n], MaxOutput: 100, Encoded: kept}
			if _, err := anthropicBody(req, model, dialectOf(ProviderConfig{Kind: Anthropic}, model)); err != nil {
				t.Fatal(err)
			}
			if want := n - 2; len(kept.kept.entries) != want {
				t.Errorf("%d of %d entries are kept, want %d", len(kept.kept.entries), n, want)
			}
		}
		again := kept.kept.conversation(entries, kept.kept.form.shape)
		if len(again.turns) != 2 {
			t.Errorf("%d turns of %d exchanges are laid out again", len(again.turns), exchanges)
		}
	}
}

// A step of a long turn encodes what the step before added. Thinking that later requests omit is encoded again at each step.
func TestTheNextStepEncodesWhatIsNew(t *testing.T) {
	model := Model{ID: "m", Name: "local/m"}
	for _, kind := range []Kind{Anthropic, OpenAI} {
		for _, back := range []ThinkingBack{ThinkingNone, ThinkingOfTurn, ThinkingAlways} {
			d := dialectOf(ProviderConfig{Kind: kind}, model)
			d.thinkingBack = back
			kept := new(Encoded)
			entries := []Entry{user("before"), assistant("it"), user("go on")}
			for step := range 100 {
				req := Request{Entries: entries, Tools: []Tool{{Name: "a"}}, MaxOutput: 100, Encoded: kept}
				body, err := map[Kind]func(Request, Model, dialect) ([]byte, error){Anthropic: anthropicBody, OpenAI: openAIBody}[kind](req, model, d)
				if err != nil || strings.Count(string(body), "result of") != step {
					t.Fatalf("%s, %s, step %d: %v, %s", kind, back, step, err, body)
				}
				want := max(1, len(entries)-2) // the newest step is new
				if back == ThinkingOfTurn {
					want = min(want, 3)
				}
				if n := len(kept.kept.entries); n != want {
					t.Fatalf("%s, %s, step %d: %d of %d entries are kept, want %d", kind, back, step, n, len(entries), want)
				}
				id := fmt.Sprint("tc_", step)
				said := message(history.RoleAssistant, history.Block{Type: history.BlockThinking, Text: "hm", Signature: "s"}, call(id))
				said.Model = model.Name
				entries = append(entries[:len(entries):len(entries)], said, message(history.RoleTool, result(id, "result of "+id)))
			}
		}
	}
}

// Requests that share what is kept can be encoded at the same time.
func TestRequestsEncodedAtTheSameTime(t *testing.T) {
	model := Model{ID: "m"}
	d := dialectOf(ProviderConfig{Kind: Anthropic}, model)
	changes := atomic.Int64{}
	kept := NewEncoded(func() { changes.Add(1) })
	entries := append(talk(20, 1), user("go on"))
	var all sync.WaitGroup
	for i := range 8 {
		req := Request{Entries: entries[:len(entries)-2*(i%4)], MaxOutput: 100}
		want, err := anthropicBody(req, model, d)
		if err != nil {
			t.Fatal(err)
		}
		req.Encoded = kept
		all.Go(func() {
			for range 20 {
				if got, err := anthropicBody(req, model, d); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%v: %s, want %s", err, got, want)
				}
			}
		})
	}
	all.Wait()
	if changes.Load() != 160 || kept.Size() == 0 {
		t.Errorf("%d changes were told of 160 requests, %d bytes are kept", changes.Load(), kept.Size())
	}
	if kept.Drop(); kept.Size() != 0 {
		t.Errorf("%d bytes are kept after all was dropped", kept.Size())
	}
}
