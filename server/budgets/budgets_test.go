package budgets

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"strata/history"
	"strata/historystore/spending"
	"strata/server/overview"
	"strata/server/wire"
)

// books are what a ledger needs, in memory.
type books struct {
	now    time.Time
	sums   []spending.Sum
	told   map[string]spending.Warned
	events []string // of budgets, with their states
	fails  bool     // storing a warning
}

func newBooks() *books {
	return &books{now: time.Date(2026, 3, 30, 10, 0, 0, 0, time.UTC), told: make(map[string]spending.Warned)}
}

func (b *books) Warnings(context.Context) (map[string]spending.Warned, error) {
	return maps.Clone(b.told), nil
}

func (b *books) SetWarning(_ context.Context, key string, w spending.Warned) error {
	if b.fails {
		return errors.New("the disk is full")
	}
	b.told[key] = w
	return nil
}

// ledger returns a ledger after a restart.
func (b *books) ledger(list ...Budget) *Ledger {
	return New(list, Services{
		Spending: func(_ context.Context, since, until time.Time, add func(spending.Sum)) error {
			for _, s := range b.sums {
				if !s.At.Before(since) && s.At.Before(until) {
					add(s)
				}
			}
			return nil
		},
		Prices: func() overview.Prices {
			return func(model string, _ history.Usage) (float64, bool) { return 0, model != "maker/unknown" }
		},
		Holds: func(folder, cwd string) bool { return cwd == folder || strings.HasPrefix(cwd, folder+"/") },
		Now:   func() time.Time { return b.now }, Told: b,
	})
}

func (b *books) spend(cwd string, usd float64) {
	b.sums = append(b.sums, spending.Sum{At: b.now.Truncate(spending.Grain), CWD: cwd, Model: "maker/model", Totals: history.Totals{Calls: 1, Cost: usd}})
}

func (b *books) look(t *testing.T, l *Ledger) {
	t.Helper()
	if err := l.look(t.Context(), func(s wire.BudgetState) { b.events = append(b.events, s.Name+" "+s.State) }); err != nil {
		t.Fatal(err)
	}
}

func TestABudgetCountsItsFolderAndItsPeriod(t *testing.T) {
	b := newBooks()
	b.spend("/home/me/a", 1)
	b.spend("/home/me", 2)
	b.spend("/home/methods", 4)
	b.sums = append(b.sums, spending.Sum{At: b.now, CWD: "/home/me", Model: "maker/unknown", Totals: history.Totals{Calls: 3}, Free: 3})
	for _, ago := range []int{1, 29, 30} { // yesterday, the first of the month, last month
		b.sums = append(b.sums, spending.Sum{At: b.now.AddDate(0, 0, -ago), CWD: "/home/me", Totals: history.Totals{Cost: 100}})
	}
	states, err := b.ledger(
		Budget{Name: "all", Per: Day, Limit: 8, WarnPercent: 80}, Budget{Name: "month", Per: Month, Limit: 200, WarnPercent: 80},
		Budget{Name: "work", Per: Day, Folder: "/home/me", Limit: 4, WarnPercent: 80},
	).States(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		spent    float64
		unpriced int
		state    string
		since    string
	}{{7, 3, Near, "2026-03-30"}, {207, 3, Over, "2026-03-01"}, {3, 3, OK, "2026-03-30"}} {
		if s := states[i]; s.Spent != want.spent || s.Unpriced != want.unpriced || s.State != want.state || s.Since.Format(time.DateOnly) != want.since {
			t.Errorf("%s is %+v, want %+v", s.Name, s, want)
		}
	}
}

// Each threshold is told once in a period: one event, and one notice in a session of the folder. That is so after restarts, too.
func TestEachThresholdIsToldOnce(t *testing.T) {
	b := newBooks()
	budget := Budget{Name: "work", Per: Day, Folder: "/home/me", Limit: 10, WarnPercent: 80}
	for i, step := range []struct {
		spend   float64
		nextDay bool
		restart bool
		at      string // folder of the session that prompts
		events  []string
		notice  string
	}{
		{spend: 7.5, at: "/home/me"},
		{spend: 0.5, at: "/other", events: []string{"work near"}},
		{at: "/home/me/a", notice: "Budget work: $8.00 of $10.00 spent today (80 %)."},
		{at: "/home/me/a"},
		{spend: 1, restart: true, at: "/home/me/a"},
		{spend: 1, restart: true, at: "/other", events: []string{"work over"}},
		{restart: true, at: "/home/me/b", notice: "Budget work exceeded: $10.00 of $10.00 spent today. Prompts are not blocked."},
		{spend: 5, restart: true, at: "/home/me/b"},
		{nextDay: true, at: "/home/me"},
		{spend: 12, at: "/home/me", events: []string{"work over"}, notice: "Budget work exceeded: $12.00 of $10.00 spent today. Prompts are not blocked."},
		{at: "/home/me"},
	} {
		l := b.ledger(budget)
		if !step.restart && i > 0 {
			l = last
		}
		last = l
		if step.nextDay {
			b.now = b.now.AddDate(0, 0, 1)
		}
		if step.spend > 0 {
			b.spend("/home/me", step.spend)
		}
		b.events = nil
		b.look(t, l)
		texts := l.Take(step.at)
		b.look(t, l) // stores what was taken
		if !slices.Equal(b.events, step.events) || strings.Join(texts, "|") != step.notice {
			t.Errorf("step %d: events %q, notices %q, want %q and %q", i, b.events, texts, step.events, step.notice)
		}
	}
}

// last is the ledger of the step before.
var last *Ledger

// A budget that was changed warns again, and a notice that nobody took before the end of its period is dropped.
func TestAnotherLimitWarnsAgain(t *testing.T) {
	b := newBooks()
	b.spend("/home/me", 9)
	for limit, want := range map[float64]string{10: "Budget day: $9.00 of $10.00 spent today (90 %).", 11: "Budget day: $9.00 of $11.00 spent today (81 %)."} {
		l := b.ledger(Budget{Name: "day", Per: Day, Limit: limit, WarnPercent: 80})
		b.look(t, l)
		if texts := l.Take("/anywhere"); len(texts) != 1 || texts[0] != want {
			t.Errorf("limit %v: %q", limit, texts)
		}
	}
	l := b.ledger(Budget{Name: "late", Per: Day, Limit: 9, WarnPercent: 80})
	b.look(t, l)
	b.now = b.now.AddDate(0, 0, 1)
	if texts := l.Take("/anywhere"); len(texts) != 0 {
		t.Errorf("a day later: %q", texts)
	}
}

func TestUnknownPricesAreTold(t *testing.T) {
	for unpriced, want := range map[int]string{0: "%).", 1: "1 call of unknown price is not included.", 2: "2 calls of unknown price are not included."} {
		if text := Text(&wire.BudgetState{Name: "a", Per: Day, Limit: 5, Spent: 4, Unpriced: unpriced, State: Near}); !strings.HasSuffix(text, want) {
			t.Errorf("%d calls: %q", unpriced, text)
		}
	}
}

// Run looks once after many changes, and goes on after an error.
func TestRunLooksAfterChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBooks()
		b.fails = true
		l := b.ledger(Budget{Name: "day", Per: Day, Limit: 10, WarnPercent: 80})
		var failures int
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			l.Run(ctx, func(s wire.BudgetState) { b.events = append(b.events, s.State) }, func(error) { failures++ })
		}()
		synctest.Wait()
		for range 3 {
			b.spend("/home/me", 4)
			for range 100 {
				l.Changed()
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if !slices.Equal(b.events, []string{Near, Over}) || failures == 0 {
			t.Errorf("events %q, %d failures", b.events, failures)
		}
		cancel()
		<-ended
	})
}
