package compacting

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"strata/compaction"
	"strata/history"
	"strata/internal/leak"
	"strata/llm"
	"strata/session/assembly"
	"strata/session/content"
	"strata/session/documents"
	"strata/session/fit"
	"strata/session/profile"
	"strata/stability"
	"strata/tokens"
)

func TestMain(m *testing.M) { leak.Main(m) }

// stage is a session without files, as the input of requests and compactions.
type stage struct {
	t         testing.TB
	profile   profile.Profile
	phase     string
	model     llm.Model
	messages  []history.Message
	edits     []history.Edit
	documents []history.Document
	learned   *assembly.Calibrations
	drift     float64
	beside    int
	ids       int
}

// newStage returns a session with an embedded profile and a model with the given window.
func newStage(t testing.TB, profile string, window int) *stage {
	t.Helper()
	return &stage{
		t: t, profile: profileNamed(t, profile), model: llm.Model{Name: "local/test", Window: window, MaxOutput: window / 4},
		learned: assembly.NewCalibrations(nil), drift: 1,
	}
}

func profileNamed(t testing.TB, name string) profile.Profile {
	t.Helper()
	all, err := profile.All()
	if err != nil {
		t.Fatal(err)
	}
	return all[name]
}

func (st *stage) counter() *tokens.Counter { return tokens.For(st.model.Encoding) }

func (st *stage) seq() int64 { return int64(len(st.messages) + len(st.edits) + 1) }

func (st *stage) id(prefix string) string {
	st.ids++
	return fmt.Sprint(prefix, st.ids)
}

func (st *stage) say(role history.Role, blocks ...history.Block) *history.Message {
	st.messages = append(st.messages, history.Message{
		ID: st.id("msg_"), Seq: st.seq(), Role: role, Blocks: blocks, Tokens: content.Tokens(context.Background(), st.counter(), blocks),
	})
	return &st.messages[len(st.messages)-1]
}

func text(words string) history.Block { return history.Block{Type: history.BlockText, Text: words} }

func (st *stage) ask(words string) { st.say(history.RoleUser, text(words)) }

func (st *stage) answer(words string) { st.say(history.RoleAssistant, text(words)) }

// call appends a tool call with its result.
func (st *stage) call(result string) {
	id := st.id("call_")
	st.say(history.RoleAssistant, history.Block{Type: history.BlockToolCall, CallID: id, Name: "run", Args: "{}"})
	st.say(history.RoleTool, history.Block{Type: history.BlockToolResult, CallID: id, Content: []history.Block{text(result)}})
}

// document sets a document.
func (st *stage) document(req documents.Request) {
	st.t.Helper()
	d, err := documents.New(req, st.documents)
	if err != nil {
		st.t.Fatal(err)
	}
	st.ids++
	d.At = time.UnixMicro(int64(st.ids))
	st.documents = documents.With(st.documents, d)
}

// apply stores an edit.
func (st *stage) apply(e history.Edit) {
	e.ID, e.Seq = fmt.Sprint("edit_", len(st.edits)+1), st.seq()
	st.edits = append(st.edits, e)
}

// Messages implements assembly.Store.
func (st *stage) Messages(_ context.Context, _ string, seqs []int64) ([]history.Message, error) {
	messages := make([]history.Message, len(seqs))
	for i, seq := range seqs {
		for _, m := range st.messages {
			if m.Seq == seq {
				messages[i] = m
			}
		}
	}
	return messages, nil
}

// Blobs implements assembly.Store.
func (st *stage) Blobs(context.Context, []string) (map[string][]byte, error) { return nil, nil }

func (st *stage) folded() *history.Log {
	heads := make([]history.Head, len(st.messages))
	for i := range st.messages {
		heads[i] = st.messages[i].Head(content.Bytes(st.messages[i].Blocks))
	}
	return history.NewLog(heads, st.edits)
}

// state returns the state for the next request. Nothing was sent before.
func (st *stage) state() assembly.State {
	st.t.Helper()
	log := st.folded()
	mirrors := assembly.NewMirrors()
	now := func() time.Time { return time.Unix(0, 0) }
	layout, err := assembly.NewLayout(stability.Options{}, history.Layout{}, func(cache string) *stability.Mirror { return mirrors.Of(cache, now()) })
	if err != nil {
		st.t.Fatal(err)
	}
	s := assembly.State{
		Session: "sess_1", Store: st, Log: slog.New(slog.DiscardHandler), Now: now,
		Measure: assembly.Measure{Model: assembly.Narrowed(st.model, &st.profile.Budget), Calibrations: st.learned, Drift: st.drift},
		Mirrors: mirrors, Layout: layout, Cache: new(fit.RenderCache), Diffs: new(assembly.Diffs), Pictures: new(content.Gallery), Counter: st.counter(),
		View: log.View(), Summary: log.Summary(), Omitted: log.Omitted(), Evicted: log.Shed(), Truncated: log.Documents(), Exchanges: log.Exchanges(),
		HistoryTokens: log.Tokens(), Beside: st.beside,
		Documents: documents.Shown(st.documents, &st.profile, st.phase), AllDocuments: st.documents,
		System: "Be brief.", Profile: &st.profile, Thought: llm.ThoughtOff,
	}
	if first, ok := log.First(); ok {
		s.First = &first
	}
	if phase, ok := st.profile.Phase(st.phase); ok {
		s.Phase = &phase
	}
	return s
}

func (st *stage) rules() Rules { return Rules{Strategy: st.profile.Compaction.Strategy} }

// job returns a compaction by the profile's strategy, without a model.
func (st *stage) job(asked bool) *job {
	st.t.Helper()
	state, rules := st.state(), st.rules()
	strategy, err := compaction.Named(rules.Strategy)
	if err != nil {
		st.t.Fatal(err)
	}
	services := &Services{Model: func(string) (llm.Model, bool) { return llm.Model{}, false }}
	return &job{
		Services: services, state: state, strategy: strategy, numbers: numbers(&state, &rules, rules.Strategy, asked),
		dedupePercent: st.profile.Budget.DedupeSufficesPercent,
		describe:      described,
	}
}

// wordsOf returns a text of n tokens.
func wordsOf(n int) string { return strings.Repeat(" word", n) }

// linesOf returns n different lines of a file.
func linesOf(name string, n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "%s %05d = value\n", name, i)
	}
	return out.String()
}

func described(err error) history.Failure { return history.Failure{Code: -1, Message: err.Error()} }
