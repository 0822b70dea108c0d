package config

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"strata/server/budgets"
)

func TestBudgets(t *testing.T) {
	c, err := loadText(t, "budgets:\n  all: {usd: 5}\n  work: {usd: 100.5, per: month, folder: work, warn_percent: 50}\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []budgets.Budget{
		{Name: "all", Per: "day", Limit: 5, WarnPercent: 80},
		{Name: "work", Per: "month", Limit: 100.5, Folder: filepath.Join(filepath.Dir(c.File), "work"), WarnPercent: 50},
	}
	if got := c.BudgetList(); !reflect.DeepEqual(got, want) {
		t.Errorf("the budgets are %+v, want %+v", got, want)
	}
}

func TestWrongBudgets(t *testing.T) {
	many := "budgets:\n"
	for i := range 33 {
		many += fmt.Sprintf("  b%d: {usd: 1}\n", i)
	}
	for text, want := range map[string]string{
		many:                                                   "budgets: 33 budgets exceeds the limit of 32",
		"budgets: {a: {}}":                                     "budgets.a: usd is missing",
		"budgets: {a: {usd: 0}}":                               "budgets.a.usd: 0 is not a limit",
		"budgets: {a: {usd: -1}}":                              "budgets.a.usd: ",
		"budgets: {a: {usd: .nan}}":                            "is not supported",
		"budgets: {a: {usd: .inf}}":                            "is not supported",
		"budgets: {a: {usd: 1e300}}":                           "budgets.a.usd: ",
		"budgets: {a: {usd: five}}":                            "budgets.a.usd: ",
		"budgets: {a: {usd: 1, per: week}}":                    `"week" is not one of day, month`,
		"budgets: {a: {usd: 1, warn_percent: 0}}":              "budgets.a.warn_percent: ",
		"budgets: {a: {usd: 1, warn_percent: 101}}":            "budgets.a.warn_percent: 101 exceeds 100",
		"budgets: {a: {usd: 1, folder: \"a\\0b\"}}":            "budgets.a.folder: ",
		"budgets: {a: {usd: 1, limit: 2}}":                     `unknown key "limit"; allowed: usd, per, folder, warn_percent`,
		"budgets: {a b: {usd: 1}}":                             `"a b" is not a budget's name`,
		"budgets: [{usd: 5}]":                                  "a list is not a mapping",
		"budgets: {" + strings.Repeat("a", 65) + ": {usd: 1}}": "is not a budget's name",
	} {
		if _, err := loadText(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", text, err, want)
		}
	}
}
