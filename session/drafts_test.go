package session

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"testing/synctest"

	"strata/compaction"
	"strata/history"
	"strata/llm"
	"strata/llm/reply"
	"strata/session/assembly"
	"strata/session/mailbox"
	"strata/session/prompts"
	"strata/session/workspace"
)

var drafted = flag.Int("drafts", 12, "how many random sessions with drafts")

// drafting returns a session with tools whose model caches marked prefixes and sees pictures.
func drafting(t *testing.T, window int, profile string) *acted {
	t.Helper()
	pool := compaction.NewPool(compaction.PoolOptions{})
	t.Cleanup(pool.Close)
	return acting(t, func(deps *Deps) {
		all := profiles(t)
		evicting := all["chat"]
		evicting.Compaction.Enabled = false
		all["evicting"] = evicting
		deps.Pool, deps.Rules.Profile, deps.Rules.Profiles = pool, profile, all
		deps.Models = oneModel{deps.Models.(oneModel).Streamer, llm.Model{
			Name: "local/test", Window: window, MaxOutput: 1000, Vision: true, Marks: true, MinCacheTokens: 100, Known: true,
			Price: llm.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75},
		}}
	})
}

func (a *acted) draft(blocks ...history.Block) (prompts.Draft, error) {
	return answerOf(func(reply func(prompts.Draft, error)) { a.Drafts().Measure(context.Background(), blocks, true, reply) })
}

// send sends a prompt, and returns the request that is sent, with its state, and the call, which waits; nil if the prompt was refused.
func (a *acted) send(blocks ...history.Block) (b assembly.Built, state assembly.State, c *call, done chan outcomeOf) {
	a.t.Helper()
	done = make(chan outcomeOf, 1)
	a.Prompt(Prompt{Blocks: blocks}, nil, func(r PromptResult, _ uint64, err error) { done <- outcomeOf{r, err} })
	select {
	case made := <-a.provider.calls:
		c = &made
	case out := <-done:
		done <- out
		return b, state, nil, done
	}
	a.inside(func() { b, state = a.running.built, a.state() })
	return b, state, c, done
}

// inside runs something on the mailbox.
func (a *acted) inside(do func()) {
	a.t.Helper()
	if _, err := answerOf(func(reply func(struct{}, error)) {
		mailbox.Ask(a.mailbox, reply, func() { do(); reply(struct{}{}, nil) })
	}); err != nil {
		a.t.Fatal(err)
	}
}

// The figures of a draft are those of the request that is then sent, whatever the draft has and the session holds.
func TestADraftIsTheRequestThatIsSent(t *testing.T) {
	seen := make(map[string]int)
	for seed := range uint64(*drafted) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			a := drafting(t, 12_000+r.IntN(20_000), []string{"chat", "steps", "task", "evicting"}[seed%4])
			for turn := range 9 {
				blocks := randomPrompt(t, r, a.folder, turn)
				synctest.Wait() // for compactions
				before, files := a.position(), a.attached()
				d, err := a.draft(blocks...)
				if err != nil {
					t.Fatal(err)
				}
				if a.position() != before || !reflect.DeepEqual(files, a.attached()) {
					t.Fatalf("turn %d: the draft changed the session", turn)
				}
				b, state, c, done := a.send(blocks...)
				if c == nil {
					if out := <-done; d.TooLarge == nil || !errors.Is(out.err, ErrBudget) {
						t.Fatalf("turn %d: refused with %v, the draft said %+v", turn, out.err, d)
					}
					seen["too large"]++
					continue
				}
				checkDraft(t, &d, &b, &state)
				note(seen, &d)
				used := state.Calibrated(b.Counted)
				read := min(d.ExpectedRead, used)
				c.spend(history.Usage{CacheWrite: used - read, CacheRead: read, Output: 50}, reply.StopEndTurn, text(wordsOf(r.IntN(1500))))
				if out := <-done; out.err != nil {
					t.Fatal(out.err)
				}
			}
		})
	}
	for _, what := range []string{"too large", "evicts", "reads", "compacts before", "compacts after", "unread"} {
		if seen[what] == 0 {
			t.Errorf("no draft that %s: %v", what, seen)
		}
	}
}

func checkDraft(t *testing.T, d *prompts.Draft, b *assembly.Built, state *assembly.State) {
	t.Helper()
	budget := state.Budget(b)
	if d.Used != budget.Used || d.Remaining != budget.Remaining || d.PercentUsed != budget.PercentUsed {
		t.Errorf("the draft said %+v, the request has %+v", d, budget)
	}
	if want := min(state.Calibrated(b.Plan.Expect), budget.Used); d.ExpectedRead != want {
		t.Errorf("the draft expects a read of %d, the request one of %d", d.ExpectedRead, want)
	}
	if want := b.Assembled(); d.Request == nil || !reflect.DeepEqual(withoutIDs(d.Request), withoutIDs(&want)) {
		t.Error("the request of the draft is another one")
	}
	input, cold, _ := b.InputCost(&state.Measure)
	if d.Cost == nil || d.Cost.Input != input || d.Cost.Cold != cold || input > cold {
		t.Errorf("the draft costs %+v, the request %g, cold %g", d.Cost, input, cold)
	}
}

// withoutIDs returns what a request contains: the draft's message has an id of its own, as has what is evicted.
func withoutIDs(a *assembly.Assembled) any {
	return []any{a.Messages, a.Breakpoints, a.Tools, a.Tokens, a.MaxOutput, len(a.Omitted)}
}

// note notes which kinds of drafts the sessions had.
func note(seen map[string]int, d *prompts.Draft) {
	for what, is := range map[string]bool{
		"evicts": len(d.Evicts) > 0, "reads": d.ExpectedRead > 0, "unread": len(d.Unread) > 0,
		"compacts before": d.Compacts != nil && d.Compacts.When == prompts.BeforeRequest,
		"compacts after":  d.Compacts != nil && d.Compacts.When == prompts.AfterReply,
	} {
		if is {
			seen[what]++
		}
	}
}

func (a *acted) position() (seq int64) {
	a.inside(func() { seq = a.context.LastSeq() })
	return seq
}

func (a *acted) attached() (files []workspace.FileInfo) {
	files, err := answerOf(a.Workspace().Files)
	if err != nil {
		a.t.Fatal(err)
	}
	return files
}

// randomPrompt returns a prompt with words, and links, pictures and files of which some are new and some have changed.
func randomPrompt(t *testing.T, r *rand.Rand, folder string, turn int) []history.Block {
	t.Helper()
	if r.IntN(20) == 0 {
		return []history.Block{text(wordsOf(40_000))}
	}
	blocks := []history.Block{text(fmt.Sprint("prompt ", turn, wordsOf(r.IntN(1+r.IntN(14_000)))))}
	for range r.IntN(3) {
		name := fmt.Sprintf("f%d.go", r.IntN(4))
		path := filepath.Join(folder, name)
		switch r.IntN(4) {
		case 0:
			if err := os.WriteFile(path, []byte(linesOf(name, r.IntN(150))), 0o600); err != nil {
				t.Fatal(err)
			}
			fallthrough
		case 1:
			blocks = append(blocks, history.Block{Type: history.BlockLink, URI: "file://" + path, Name: name})
		case 2:
			blocks = append(blocks, history.Block{Type: history.BlockResource, URI: "file://" + path, Text: linesOf("unsaved", r.IntN(100))})
		default:
			blocks = append(blocks, history.Block{Type: history.BlockImage, Data: pictureOf(t, 1+r.IntN(900), 300), MIME: "image/png"})
		}
	}
	return blocks
}

// pictureOf returns a picture of a size in pixels.
func pictureOf(t *testing.T, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A draft ends when a newer one of the same client begins, and with its request.
func TestANewerDraftReplacesTheOlder(t *testing.T) {
	var newest prompts.Newest
	parent, cancel := context.WithCancel(t.Context())
	first := newest.Next(parent)
	second := newest.Next(parent)
	if cause := context.Cause(first); !errors.Is(cause, prompts.ErrReplaced) {
		t.Errorf("the first draft ended with %v", cause)
	}
	if second.Err() != nil {
		t.Error("the second draft ended with the first")
	}
	a := drafting(t, 8000, "chat")
	_, err := answerOf(func(reply func(prompts.Draft, error)) {
		a.Drafts().Measure(first, []history.Block{text("hello")}, false, reply)
	})
	if !errors.Is(err, prompts.ErrReplaced) {
		t.Errorf("the replaced draft ended with %v", err)
	}
	cancel()
	if second.Err() == nil {
		t.Error("the draft outlived its request")
	}
}

// A draft of a session with a long history costs what is new.
func BenchmarkADraftOfALongSession(b *testing.B) {
	store := newLockedStore()
	deps := depsOf(store, &echo{}, describingHost{})
	deps.Models = oneModel{&echo{}, llm.Model{Name: "local/test", Window: 400_000, MaxOutput: 1000, Marks: true}}
	s := Create(deps, history.Session{ID: deps.NewID("sess_"), CWD: b.TempDir()})
	defer func() { s.Close(ReasonClosed, func() {}); <-s.Done() }()
	var messages []history.Message
	for i := range 500 {
		role := history.RoleUser
		if i%2 == 1 {
			role = history.RoleAssistant
		}
		messages = append(messages, history.Message{Role: role, Blocks: []history.Block{text(fmt.Sprint(i, wordsOf(300)))}})
	}
	if _, err := answerOf(func(reply func([]string, error)) { s.Append(messages, nil, reply) }); err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		n++
		d, err := answerOf(func(reply func(prompts.Draft, error)) {
			s.Drafts().Measure(context.Background(), []history.Block{text(fmt.Sprint("stroke", n, wordsOf(n%200)))}, false, reply)
		})
		if err != nil || d.Used < 150_000 {
			b.Fatal(d, err)
		}
	}
}
