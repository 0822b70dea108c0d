// Package budgets compares what sessions spend with the budgets of the configuration, and decides when to warn.
//
// A budget warns and never blocks: the cost of a call is known after it, and a turn that stops half-way costs its user more
// than it saves. It must never know how a warning reaches the user.
package budgets

import (
	"context"
	"fmt"
	"time"

	"strata/historystore/spending"
	"strata/server/overview"
	"strata/server/wire"
)

// Max is the maximum number of budgets.
const Max = 32

// The periods of a budget.
const (
	Day   = "day"
	Month = "month"
)

// The states of a budget.
const (
	OK   = "ok"
	Near = "near" // WarnPercent of the limit is spent
	Over = "over" // the limit is spent
)

// Budget is an amount of money for a period.
type Budget struct {
	Name        string
	Folder      string  // absolute; empty: the sessions of all folders
	Per         string  // Day or Month
	Limit       float64 // US dollars, above 0
	WarnPercent int     // 1 to 100
}

// key names the budget as it is configured: a changed budget warns again.
func (b *Budget) key() string {
	return fmt.Sprintf("%s %s %s %v %d", b.Name, b.Per, b.Folder, b.Limit, b.WarnPercent)
}

// period returns the period of the budget that contains a time, in the time's zone.
func (b *Budget) period(now time.Time) (since, until time.Time) {
	y, m, d := now.Date()
	if b.Per == Month {
		return overview.Begin(y, m, 1, now.Location()), overview.Begin(y, m+1, 1, now.Location())
	}
	return overview.Begin(y, m, d, now.Location()), overview.Begin(y, m, d+1, now.Location())
}

// Services is what a Ledger needs of the server. The functions are safe for concurrent use.
type Services struct {
	// Spending calls add for the sums of all calls between two times.
	Spending func(ctx context.Context, since, until time.Time, add func(spending.Sum)) error
	Prices   func() overview.Prices
	Holds    func(folder, cwd string) bool // whether cwd is folder or below it; must not block
	Now      func() time.Time              // in the time zone of the periods
	Told     Told
}

// States returns the budgets with the cost in their current periods.
func (l *Ledger) States(ctx context.Context) ([]wire.BudgetState, error) {
	states := make([]wire.BudgetState, len(l.budgets))
	if len(states) == 0 {
		return states, nil
	}
	now := l.services.Now()
	since, until := now, now
	for i := range l.budgets {
		b, s := &l.budgets[i], &states[i]
		*s = wire.BudgetState{Name: b.Name, Folder: b.Folder, Per: b.Per, Limit: b.Limit, WarnPercent: b.WarnPercent}
		s.Since, s.Until = b.period(now)
		if s.Since.Before(since) {
			since = s.Since
		}
		if s.Until.After(until) {
			until = s.Until
		}
	}
	prices := l.services.Prices()
	err := l.services.Spending(ctx, since, until, func(sum spending.Sum) {
		one := overview.Priced(sum, prices)
		for i := range states {
			s := &states[i]
			if !sum.At.Before(s.Since) && sum.At.Before(s.Until) && l.holds(s.Folder, sum.CWD) {
				s.Spent, s.Unpriced = s.Spent+one.Cost, s.Unpriced+one.Unpriced
			}
		}
	})
	for i := range states {
		states[i].State = [...]string{OK, Near, Over}[level(&states[i])]
	}
	return states, err
}

func (l *Ledger) holds(folder, cwd string) bool { return folder == "" || l.services.Holds(folder, cwd) }

// level returns the number of thresholds that a budget has reached, 0 to 2.
func level(s *wire.BudgetState) int {
	switch {
	case s.Spent >= s.Limit:
		return 2
	case 100*s.Spent >= s.Limit*float64(s.WarnPercent):
		return 1
	}
	return 0
}

// Text returns the warning about a budget.
func Text(s *wire.BudgetState) string {
	period := map[string]string{Day: "today", Month: "this month"}[s.Per]
	text := fmt.Sprintf("Budget %s: $%.2f of $%.2f spent %s (%d %%).", s.Name, s.Spent, s.Limit, period, int(100*s.Spent/s.Limit))
	if s.State == Over {
		text = fmt.Sprintf("Budget %s exceeded: $%.2f of $%.2f spent %s. Prompts are not blocked.", s.Name, s.Spent, s.Limit, period)
	}
	switch {
	case s.Unpriced == 1:
		text += " 1 call of unknown price is not included."
	case s.Unpriced > 1:
		text += fmt.Sprintf(" %d calls of unknown price are not included.", s.Unpriced)
	}
	return text
}
