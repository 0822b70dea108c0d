package compaction

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"strata/history"
)

// randomHistory returns a realistic history: exchanges of steps with and without tool calls.
// Unless tidy is set, some user messages have no reply and some messages precede the first user message.
func randomHistory(r *rand.Rand, tidy bool) History {
	var messages []Message
	add := func(m Message) {
		m.ID, m.Tokens = fmt.Sprintf("m%d", len(messages)+1), r.IntN(300)
		m.Failed = m.Role == history.RoleTool && r.IntN(8) == 0
		if m.Role == history.RoleAssistant && r.IntN(8) == 0 {
			m.Text = "Error"
		}
		messages = append(messages, m)
	}
	if !tidy && r.IntN(3) == 0 {
		add(Message{Role: history.RoleAssistant})
	}
	for range r.IntN(25) {
		add(Message{Role: history.RoleUser})
		if !tidy && r.IntN(6) == 0 {
			continue
		}
		for range r.IntN(4) {
			add(Message{Role: history.RoleAssistant, Calls: true})
			for range 1 + r.IntN(3) {
				add(Message{Role: history.RoleTool})
			}
		}
		add(Message{Role: history.RoleAssistant})
	}
	return History{Messages: messages, SummaryTokens: r.IntN(50)}
}

func randomNumbers(r *rand.Rand) Numbers {
	modes := []string{"", KeepNone, KeepLastTwo, KeepHalf, KeepQuarter}
	return Numbers{
		NoSummary:            r.IntN(2) == 0,
		TriggerTokens:        r.IntN(3_000),
		VerbatimWindowTokens: r.IntN(2_000),
		SummaryBudgetTokens:  r.IntN(2) * 100,
		MinVerbatimExchanges: r.IntN(4),
		MinConfidence:        0.5,
		RawWindowSize:        r.IntN(8),
		SummarizeEvery:       r.IntN(11),
		SummaryThreshold:     r.IntN(6),
		MaxSteps:             r.IntN(20),
		KeepFirst:            r.IntN(4),
		KeepLast:             r.IntN(10),
		FailureWords:         []string{"Error"},
		MiddleMode:           modes[r.IntN(len(modes))],
		RoomTokens:           r.IntN(3_000),
	}
}

// everyPlan calls check with plans of all strategies for random histories and numbers.
func everyPlan(t *testing.T, tidy bool, check func(t *testing.T, s Strategy, h History, n Numbers, p Plan)) {
	for _, name := range []string{Topic, Rolling, Prune, Middle, Window} {
		t.Run(name, func(t *testing.T) {
			s := named(t, name)
			wanted := 0
			for seed := range uint64(500) {
				r := rand.New(rand.NewPCG(seed, 1))
				h, n := randomHistory(r, tidy), randomNumbers(r)
				boundary := Boundary{Index: r.IntN(len(h.Messages)+2) - 1, Confidence: r.Float64()}
				plan := s.Plan(h, n, boundary)
				if !plan.Empty() {
					wanted++
				}
				check(t, s, h, n, plan)
				if t.Failed() {
					t.Fatalf("seed %d: %+v\n%+v", seed, n, h.Messages)
				}
			}
			if wanted < 100 {
				t.Errorf("only %d plans are not empty", wanted)
			}
		})
	}
}

func after(h History, p Plan) History { return applied(h, Outcome{Result: Compacted, Plan: p}) }

func TestPlansKeepTheRules(t *testing.T) {
	everyPlan(t, false, func(t *testing.T, s Strategy, h History, n Numbers, p Plan) {
		if p.Empty() {
			return
		}
		left := after(h, p)
		if len(left.Messages) != len(h.Messages)-len(p.Drop) {
			t.Errorf("drops unknown messages: %v", p.Drop)
		}
		if len(p.Summarise) > 0 && !slices.Equal(p.Summarise, p.Drop) {
			t.Errorf("drops %v, summarises %v", p.Drop, p.Summarise)
		}
		newest := lastUser(h.Messages)
		if _, steps := s.(prune); steps && newest < 0 { // steps before any user message are all summarized
			if len(left.Messages) > 0 || len(p.Summarise) == 0 {
				t.Errorf("keeps %d messages without a user's, summarises %v", len(left.Messages), p.Summarise)
			}
			return
		}
		if len(left.Messages) == 0 || left.Messages[0].Role != history.RoleUser {
			t.Error("the first kept message is not a user message")
		}
		answered := newest < len(h.Messages)-1
		_, asked := s.(middle)
		asked = asked && n.MiddleMode == KeepNone
		if slices.Contains(p.Drop, h.Messages[newest].ID) && !(asked && answered) {
			t.Error("drops the newest user message")
		}
		if batch := splitBatch(h, p); batch != "" {
			t.Errorf("splits the batch of %s", batch)
		}
		if again := s.Plan(h, n, Boundary{Index: -1}); again.Empty() {
			t.Error("empty without a boundary")
		}
	})
}

func lastUser(messages []Message) int {
	last := -1
	for i := range messages {
		if messages[i].Role == history.RoleUser {
			last = i
		}
	}
	return last
}

// unanswered returns the id of a prompt that is kept without the reply that ended its exchange.
func unanswered(h History, p Plan) string {
	for i, m := range h.Messages {
		end := i + 1
		for end < len(h.Messages) && h.Messages[end].Role != history.RoleUser {
			end++
		}
		last := h.Messages[end-1]
		answered := last.Role == history.RoleAssistant && !last.Calls
		if m.Role == history.RoleUser && answered && !slices.Contains(p.Drop, m.ID) && slices.Contains(p.Drop, last.ID) {
			return m.ID
		}
	}
	return ""
}

// However often a history is compacted, and by which strategies, no prompt is without its answer, also if parts of other
// exchanges follow it.
func TestF22RepeatedPlansKeepAnswers(t *testing.T) {
	plans := 0
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 22))
		whole := randomHistory(r, seed%2 == 0)
		for i := range whole.Messages {
			m := &whole.Messages[i]
			if i > 0 {
				m.Exchange = whole.Messages[i-1].Exchange
			}
			if m.Role == history.RoleUser {
				m.Exchange++
			}
		}
		left := whole
		for range 4 {
			s, n := named(t, []string{Topic, Rolling, Prune, Middle, Window}[r.IntN(5)]), randomNumbers(r)
			p := s.Plan(left, n, Boundary{Index: r.IntN(len(left.Messages)+2) - 1, Confidence: r.Float64()})
			left = after(left, p)
			if !p.Empty() {
				plans++
			}
			var gone Plan
			for _, m := range whole.Messages {
				if !slices.ContainsFunc(left.Messages, func(l Message) bool { return l.ID == m.ID }) {
					gone.Drop = append(gone.Drop, m.ID)
				}
			}
			if id := unanswered(whole, gone); id != "" {
				t.Fatalf("seed %d: %s is kept without its answer: %+v", seed, id, left.Messages)
			}
		}
	}
	if plans < 500 {
		t.Errorf("only %d plans removed messages", plans)
	}
}

// A plan never keeps a prompt without its answer: the model would carry it out again.
func TestF22PlansKeepAnswersWithTheirPrompts(t *testing.T) {
	for _, tidy := range []bool{true, false} {
		everyPlan(t, tidy, func(t *testing.T, _ Strategy, h History, n Numbers, p Plan) {
			if id := unanswered(h, p); id != "" {
				t.Errorf("%s is kept without its answer", id)
			}
		})
	}
}

// withRunningTurn returns the history with a turn that is still running, after some steps.
func withRunningTurn(r *rand.Rand, h History) History {
	add := func(m Message) {
		m.ID, m.Tokens = fmt.Sprintf("m%d", len(h.Messages)+1), r.IntN(300)
		h.Messages = append(h.Messages, m)
	}
	add(Message{Role: history.RoleUser})
	for range 1 + r.IntN(12) {
		add(Message{Role: history.RoleAssistant, Calls: true})
		for range 1 + r.IntN(3) {
			add(Message{Role: history.RoleTool, Failed: r.IntN(8) == 0})
		}
	}
	return h
}

// newest returns the ids of the newest user message and of the messages of the newest steps after it.
func newest(messages []Message, steps int) (ids []string) {
	from := lastUser(messages)
	ids = append(ids, messages[from].ID)
	for i := len(messages) - 1; i > from && steps > 0; i-- {
		ids = append(ids, messages[i].ID)
		if messages[i].Role == history.RoleAssistant {
			steps--
		}
	}
	return ids
}

// However often a history with a running turn is compacted, and by which strategies, the prompt of the turn and its newest two
// steps stay, no call is without its results, and in the end nothing is left to do.
func TestPlansKeepARunningTurn(t *testing.T) {
	strategies := []string{Topic, Rolling, Prune, Middle, Window}
	inside := make(map[string]int) // plans that remove steps of the running turn, by strategy
	for seed := range uint64(500) {
		for _, name := range strategies {
			compactRunning(t, seed, inside, name)
		}
		compactRunning(t, seed, inside, strategies...)
	}
	for _, name := range strategies {
		if inside[name] < 100 {
			t.Errorf("only %d plans of %s remove steps of the running turn", inside[name], name)
		}
	}
}

// compactRunning applies plans of strategies in turn until none of them removes anything.
func compactRunning(t *testing.T, seed uint64, inside map[string]int, strategies ...string) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 14))
	left := withRunningTurn(r, randomHistory(r, r.IntN(2) == 0))
	n := randomNumbers(r)
	n.Asked, n.TurnRoomTokens = r.IntN(2) == 0, r.IntN(4_000)
	kept := newest(left.Messages, 2)
	const most = 60
	for plans, empty := 0, 0; empty < len(strategies); plans++ {
		name := strategies[plans%len(strategies)]
		p := named(t, name).Plan(left, n, Boundary{Index: r.IntN(len(left.Messages)+2) - 1, Confidence: r.Float64()})
		if p.Empty() {
			empty++
			continue
		}
		empty = 0
		if slices.ContainsFunc(kept, func(id string) bool { return slices.Contains(p.Drop, id) }) {
			t.Fatalf("seed %d: %s drops %v, of which %v must stay", seed, name, p.Drop, kept)
		}
		if batch := splitBatch(left, p); batch != "" {
			t.Fatalf("seed %d: %s splits the batch of %s", seed, name, batch)
		}
		if plans > most {
			t.Fatalf("seed %d: %s still drops %v after %d plans", seed, name, p.Drop, plans)
		}
		running := left.Messages[lastUser(left.Messages):]
		if slices.ContainsFunc(running, func(m Message) bool { return slices.Contains(p.Drop, m.ID) }) {
			inside[name]++
		}
		left = after(left, p)
	}
}

// splitBatch returns the id of an assistant message of which only some results are kept.
func splitBatch(h History, p Plan) string {
	for i, m := range h.Messages {
		for k := i + 1; m.Role == history.RoleAssistant && k < len(h.Messages) && h.Messages[k].Role == history.RoleTool; k++ {
			if slices.Contains(p.Drop, m.ID) != slices.Contains(p.Drop, h.Messages[k].ID) {
				return m.ID
			}
		}
	}
	return ""
}

func TestPlansAreFunctions(t *testing.T) {
	everyPlan(t, false, func(t *testing.T, s Strategy, h History, n Numbers, p Plan) {
		before := slices.Clone(h.Messages)
		if again, once := s.Plan(h, n, NoBoundary), s.Plan(h, n, NoBoundary); !reflect.DeepEqual(again, once) {
			t.Error("equal inputs have different plans")
		}
		if !reflect.DeepEqual(before, h.Messages) {
			t.Error("the history was changed")
		}
	})
}

// After a plan is applied, the next plan is empty. middle is different: each plan removes more until only the first pair
// is left.
func TestPlansTerminate(t *testing.T) {
	everyPlan(t, false, func(t *testing.T, s Strategy, h History, n Numbers, p Plan) {
		plans := 0
		for ; !p.Empty() && plans < 20; plans++ {
			h = after(h, p)
			p = s.Plan(h, n, NoBoundary)
		}
		most := 1
		if s == (middle{}) {
			most = 12
		}
		if plans > most {
			t.Errorf("%d plans for one history", plans)
		}
	})
}

func TestPlansKeepWhatTheirStrategyPins(t *testing.T) {
	everyPlan(t, true, func(t *testing.T, s Strategy, h History, n Numbers, p Plan) {
		if p.Empty() {
			return
		}
		left := after(h, p)
		shape, rest := shapeOf(h.Messages), shapeOf(left.Messages)
		switch s {
		case topic{}:
			if len(rest.exchanges) < min(max(n.MinVerbatimExchanges, 1), len(shape.exchanges)) {
				t.Errorf("%d exchanges are kept", len(rest.exchanges))
			}
		case rolling{}:
			if len(rest.exchanges) != max(n.RawWindowSize, 1) {
				t.Errorf("%d iterations are kept", len(rest.exchanges))
			}
		case prune{}:
			for _, m := range h.Messages {
				if n.NoSummary && (m.Failed || m.Text == "Error") && slices.Contains(p.Drop, m.ID) {
					t.Errorf("drops the failure %s", m.ID)
				}
			}
		case middle{}:
			first := shape.exchanges[0]
			for _, m := range h.Messages[:first.steps[0].end] {
				if slices.Contains(p.Drop, m.ID) {
					t.Errorf("drops %s of the first pair", m.ID)
				}
			}
		case window{}:
			if left.Messages[0].ID != h.Messages[0].ID {
				t.Error("drops the first message")
			}
		}
	})
}

// Roles alternate after repeated cuts of middle.
func TestMiddleAlternates(t *testing.T) {
	everyPlan(t, true, func(t *testing.T, s Strategy, h History, n Numbers, p Plan) {
		if s != (middle{}) {
			return
		}
		for range 3 {
			h = after(h, p)
			if at := sameRoles(h.Messages); at > 0 {
				t.Errorf("%s and %s have one role", h.Messages[at-1].ID, h.Messages[at].ID)
				return
			}
			p = s.Plan(h, n, NoBoundary)
		}
	})
}

// sameRoles returns the index of a message with the same role as the previous one from a provider's view, 0 for none.
// Tool results count as one user message.
func sameRoles(messages []Message) int {
	for i := 1; i < len(messages); i++ {
		a, b := messages[i-1].Role, messages[i].Role
		if a == history.RoleTool && b == history.RoleTool {
			continue
		}
		if (a == history.RoleAssistant) == (b == history.RoleAssistant) {
			return i
		}
	}
	return 0
}

// Yardstick: 20 ms for a history of 10,000 messages.
func BenchmarkPlan(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	var h History
	for len(h.Messages) < 10_000 {
		h.Messages = append(h.Messages, randomHistory(r, true).Messages...)
	}
	h.Messages = h.Messages[:10_000]
	n := Numbers{TriggerTokens: 24_000, VerbatimWindowTokens: 4_000, MinVerbatimExchanges: 2, RawWindowSize: 5, SummarizeEvery: 10,
		NoSummary: true, MaxSteps: 20, KeepFirst: 3, KeepLast: 10, FailureWords: []string{"Error", "Failed", "Exception"}, RoomTokens: 100_000}
	for _, name := range []string{Topic, Rolling, Prune, Middle, Window} {
		s := named(b, name)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if plan := s.Plan(h, n, NoBoundary); plan.Empty() {
					b.Fatal("the plan is empty")
				}
			}
		})
	}
}
