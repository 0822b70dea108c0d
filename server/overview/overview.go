// Package overview adds up the model calls of all sessions for the overview: by day, model, folder and session.
//
// A Table is a function of its input: no clock and no I/O.
package overview

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"strata/history"
	"strata/historystore/spending"
	"strata/server/wire"
)

// Maximum lengths of the lists in an overview. The rest of models and of folders is one entry.
const (
	maxGroups   = 50
	maxSessions = 10
)

// Prices returns the cost of a usage without a prompt cache, in US dollars; known is false if the model has no known price.
type Prices func(model string, u history.Usage) (uncached float64, known bool)

// Table adds up sums of calls.
type Table struct {
	days     []time.Time // beginnings, and the end of the last one
	prices   Prices
	folder   func(cwd string) string // the spelling by which folders are compared
	totals   Spent
	byDay    []Spent
	byModel  map[string]*Spent
	byFolder map[string]*Spent
	sessions map[string]*SpentSession
}

// NewTable returns an empty table for successive days, as returned by Days.
func NewTable(days []time.Time, prices Prices, folder func(cwd string) string) *Table {
	return &Table{
		days: days, prices: prices, folder: folder, byDay: make([]Spent, len(days)-1),
		byModel: make(map[string]*Spent), byFolder: make(map[string]*Spent), sessions: make(map[string]*SpentSession),
	}
}

// Add adds a sum within the days of the table.
func (t *Table) Add(s spending.Sum) {
	next, _ := slices.BinarySearchFunc(t.days, s.At, func(day, at time.Time) int { return cmp.Or(day.Compare(at), -1) })
	if next < 1 || next >= len(t.days) {
		return
	}
	in := t.sessions[s.Session]
	if in == nil {
		in = &SpentSession{SessionID: s.Session, Title: s.Title, Folder: t.folder(s.CWD), Deleted: s.Deleted}
		t.sessions[s.Session] = in
	}
	one := Priced(s, t.prices)
	for _, to := range []*Spent{&t.totals, &t.byDay[next-1], entry(t.byModel, s.Model), entry(t.byFolder, in.Folder), &in.Spent} {
		add(to, &one)
	}
}

func entry(of map[string]*Spent, name string) *Spent {
	if of[name] == nil {
		of[name] = new(Spent)
	}
	return of[name]
}

// Priced returns a sum with what depends on prices.
func Priced(s spending.Sum, prices Prices) Spent {
	one := Spent{UsageTotals: wire.UsageTotals{Totals: s.Totals, Expected: s.Expected, Failed: s.Failed, Stopped: s.Stopped}}
	uncached, known := prices(s.Model, s.Usage)
	one.Uncached = uncached
	if !known {
		one.Unpriced = s.Free
	}
	return one
}

func add(to, s *Spent) {
	to.Calls, to.Usage, to.Cost = to.Calls+s.Calls, to.Usage.Add(s.Usage), to.Cost+s.Cost
	to.Uncached, to.Expected = to.Uncached+s.Uncached, to.Expected+s.Expected
	to.Failed, to.Stopped, to.Unpriced = to.Failed+s.Failed, to.Stopped+s.Stopped, to.Unpriced+s.Unpriced
}

// Overview returns the overview of what was added, without budgets.
func (t *Table) Overview() Overview {
	o := Overview{
		Since: t.days[0], Until: t.days[len(t.days)-1], Totals: rated(t.totals), Days: make([]SpentDay, len(t.byDay)),
		Models: []SpentModel{}, Folders: []SpentFolder{}, Sessions: []SpentSession{}, Budgets: []wire.BudgetState{},
	}
	for i, spent := range t.byDay {
		o.Days[i] = SpentDay{Date: t.days[i].Format(time.DateOnly), Since: t.days[i], Spent: rated(spent)}
	}
	for _, g := range groups(t.byModel) {
		o.Models = append(o.Models, SpentModel{Model: g.name, Others: g.others, Spent: g.Spent})
	}
	for _, g := range groups(t.byFolder) {
		o.Folders = append(o.Folders, SpentFolder{Folder: g.name, Others: g.others, Spent: g.Spent})
	}
	for _, s := range t.sessions {
		s.Spent = rated(s.Spent)
		o.Sessions = append(o.Sessions, *s)
	}
	slices.SortFunc(o.Sessions, func(a, b SpentSession) int {
		return cmp.Or(dearer(&a.Spent, &b.Spent), strings.Compare(a.SessionID, b.SessionID))
	})
	o.Sessions = o.Sessions[:min(len(o.Sessions), maxSessions)]
	return o
}

// group is a model or folder with its usage, or the rest of them.
type group struct {
	name   string
	others int // in the rest
	Spent
}

// groups returns the groups by name, the dearest first. Beyond maxGroups, the last one is the rest.
func groups(of map[string]*Spent) []group {
	all := make([]group, 0, len(of))
	for name, spent := range of {
		all = append(all, group{name: name, Spent: *spent})
	}
	slices.SortFunc(all, func(a, b group) int { return cmp.Or(dearer(&a.Spent, &b.Spent), strings.Compare(a.name, b.name)) })
	if len(all) > maxGroups {
		rest := group{others: len(all) - maxGroups}
		for i := range all[maxGroups:] {
			add(&rest.Spent, &all[maxGroups+i].Spent)
		}
		all = append(all[:maxGroups], rest)
	}
	for i := range all {
		all[i].Spent = rated(all[i].Spent)
	}
	return all
}

// dearer orders sums by cost, and those of equal cost by tokens.
func dearer(a, b *Spent) int {
	return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Usage.Context()+b.Usage.Output, a.Usage.Context()+a.Usage.Output))
}

// rated returns a sum with its hit rate.
func rated(s Spent) Spent {
	if input := s.Usage.Context(); input > 0 {
		s.HitRate = float64(s.Usage.CacheRead) / float64(input)
	}
	return s
}
