package budgets

import (
	"context"
	"maps"
	"sync"
	"time"

	"strata/historystore/spending"
	"strata/server/wire"
)

// Told stores the newest warnings, also across restarts. Methods may block.
type Told interface {
	// Warnings returns the newest warning about each budget, by key.
	Warnings(ctx context.Context) (map[string]spending.Warned, error)
	// SetWarning stores the newest warning about a budget.
	SetWarning(ctx context.Context, key string, warned spending.Warned) error
}

// pace is the minimum time between two comparisons.
const pace = time.Second

// Ledger compares the cost of calls with the budgets, and sends each warning once in a period: as an event, and as a notice
// in a session that runs, or in the next one that prompts. Methods are safe for concurrent use.
type Ledger struct {
	budgets  []Budget
	services Services
	wake     chan struct{} // capacity 1

	mu     sync.Mutex
	due    map[string]wire.BudgetState // whose notice no session has got, by key
	warned map[string]spending.Warned  // by key
	saved  map[string]spending.Warned  // what is stored of that
}

// New returns a Ledger for budgets with different names.
func New(list []Budget, services Services) *Ledger {
	return &Ledger{budgets: list, services: services, wake: make(chan struct{}, 1), due: make(map[string]wire.BudgetState)}
}

// Changed notes that the cost can have changed. It does not block.
func (l *Ledger) Changed() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Run compares cost and budgets after each change until ctx ends. It calls tell for each budget that has reached a threshold;
// its notice can be taken then. failed receives the errors.
func (l *Ledger) Run(ctx context.Context, tell func(wire.BudgetState), failed func(error)) {
	if len(l.budgets) == 0 {
		return
	}
	defer func() { // a notice can have been taken since
		if err := l.save(context.WithoutCancel(ctx)); err != nil {
			failed(err)
		}
	}()
	l.Changed()
	for {
		select {
		case <-l.wake:
		case <-ctx.Done():
			return
		}
		if err := l.look(ctx, tell); err != nil && ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-time.After(pace):
		case <-ctx.Done():
			return
		}
	}
}

// look compares the cost with the budgets, and stores the warnings.
func (l *Ledger) look(ctx context.Context, tell func(wire.BudgetState)) error {
	if err := l.load(ctx); err != nil {
		return err
	}
	states, err := l.States(ctx)
	if err != nil {
		return err
	}
	for i := range states {
		if l.reaches(l.budgets[i].key(), states[i]) {
			tell(states[i])
		}
	}
	return l.save(ctx)
}

// load reads what was told before the server started, once.
func (l *Ledger) load(ctx context.Context) error {
	if l.warned != nil { // set by the goroutine of Run only
		return nil
	}
	stored, err := l.services.Told.Warnings(ctx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.warned, l.saved = stored, maps.Clone(stored)
	return nil
}

// reaches takes the state of a budget, and reports whether the budget has reached a threshold that was not told.
func (l *Ledger) reaches(key string, s wire.BudgetState) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.warned[key]
	if !w.Since.Equal(s.Since) {
		w = spending.Warned{Since: s.Since}
	}
	now := level(&s)
	delete(l.due, key)
	if now > w.Notice {
		l.due[key] = s
	}
	news = now > w.Event
	w.Event = max(w.Event, now)
	if now > 0 {
		l.warned[key] = w
	}
	return news
}

// Take returns the notices for a session in a folder that it has to give its user now. Each is returned once.
func (l *Ledger) Take(cwd string) (texts []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.budgets {
		key := l.budgets[i].key()
		s, due := l.due[key]
		if !due || !l.holds(s.Folder, cwd) || !l.services.Now().Before(s.Until) {
			continue
		}
		texts = append(texts, Text(&s))
		delete(l.due, key)
		w := l.warned[key]
		w.Notice = level(&s)
		l.warned[key] = w
		l.Changed()
	}
	return texts
}

// save stores what was told since the last time.
func (l *Ledger) save(ctx context.Context) error {
	for i := range l.budgets {
		key := l.budgets[i].key()
		l.mu.Lock()
		w, before := l.warned[key], l.saved[key]
		l.mu.Unlock()
		if w == before {
			continue
		}
		if err := l.services.Told.SetWarning(ctx, key, w); err != nil {
			return err
		}
		l.mu.Lock()
		l.saved[key] = w
		l.mu.Unlock()
	}
	return nil
}
