package config

import (
	"fmt"
	"maps"
	"slices"

	"strata/server/budgets"
)

// Budget is a limit on the cost of sessions in a day or a month.
type Budget struct {
	USD         *float64 `yaml:"usd" doc:"Limit of the period, in US dollars. Strata warns; it never blocks a prompt."`
	Per         string   `yaml:"per" default:"day" oneof:"day month" doc:"Period: a calendar day or month of the server's time zone."`
	Folder      string   `yaml:"folder" allow:"path" doc:"Folder whose sessions count, including the folders below it. Empty: all sessions."` // absolute
	WarnPercent int      `yaml:"warn_percent" default:"80" min:"1" doc:"Percentage of the limit at which Strata warns first; it warns again at 100."`
}

// fault returns the problem of a budget and the key of the value, both empty for a valid budget.
func (b *Budget) fault() (key, text string) {
	switch {
	case b.USD == nil:
		return "", "usd is missing: set the limit in US dollars"
	case *b.USD == 0:
		return ".usd", "0 is not a limit: set an amount above 0"
	case b.WarnPercent > 100:
		return ".warn_percent", fmt.Sprintf("%d exceeds 100", b.WarnPercent)
	}
	return "", ""
}

// BudgetList returns checked budgets, sorted by name.
func BudgetList(all map[string]*Budget) []budgets.Budget {
	list := make([]budgets.Budget, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b := all[name]
		list = append(list, budgets.Budget{Name: name, Folder: b.Folder, Per: b.Per, Limit: *b.USD, WarnPercent: b.WarnPercent})
	}
	return list
}
