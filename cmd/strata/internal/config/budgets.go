package config

import (
	"maps"
	"slices"

	"strata/server/budgets"
)

// Budget is an amount of money that sessions should not exceed in a day or a month.
type Budget struct {
	USD         *float64 `yaml:"usd" doc:"Limit of the period, in US dollars. Strata warns; it never blocks a prompt."`
	Per         string   `yaml:"per" default:"day" oneof:"day month" doc:"Period: a calendar day or month of the server's time zone."`
	Folder      string   `yaml:"folder" allow:"path" doc:"Folder whose sessions count, with those of the folders below it. Empty: all sessions."` // absolute
	WarnPercent int      `yaml:"warn_percent" default:"80" min:"1" doc:"Percentage of the limit that causes the first warning; the second comes at 100."`
}

// checkBudgets checks that each budget has a limit.
func (l *loader) checkBudgets() {
	if n := len(l.Budgets); n > budgets.Max {
		l.wrong("budgets", "%d budgets exceeds the limit of %d", n, budgets.Max)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Budgets)) {
		dotted, b := "budgets."+name, l.Budgets[name]
		switch {
		case b.USD == nil:
			l.wrong(dotted, "usd is missing: set the limit in US dollars")
		case *b.USD == 0:
			l.wrong(dotted+".usd", "0 is not a limit: set an amount above 0")
		}
		if b.WarnPercent > 100 {
			l.wrong(dotted+".warn_percent", "%d exceeds 100", b.WarnPercent)
		}
	}
}

// BudgetList returns the budgets, sorted by name.
func (c *Config) BudgetList() []budgets.Budget {
	list := make([]budgets.Budget, 0, len(c.Budgets))
	for _, name := range slices.Sorted(maps.Keys(c.Budgets)) {
		b := c.Budgets[name]
		list = append(list, budgets.Budget{Name: name, Folder: b.Folder, Per: b.Per, Limit: *b.USD, WarnPercent: b.WarnPercent})
	}
	return list
}
