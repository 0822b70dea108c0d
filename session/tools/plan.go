package tools

import (
	"context"
	"encoding/json"
	"strings"

	"strata/history"
)

// PlanEntry is one entry of a plan.
type PlanEntry = history.PlanEntry

type planInput struct {
	Entries []PlanEntry `json:"entries"`
}

// The bounds of a plan.
const (
	maxPlan      = history.MaxPlan
	maxPlanEntry = 1000 // bytes of an entry
)

const planSchema = `{"type":"object","properties":{"entries":{"type":"array","description":"All entries of the plan, in order",` +
	`"items":{"type":"object","properties":{` +
	`"content":{"type":"string","description":"What is to be done, in one sentence"},` +
	`"priority":{"type":"string","enum":["high","medium","low"]},` +
	`"status":{"type":"string","enum":["pending","in_progress","completed"]}},` +
	`"required":["content","priority","status"],"additionalProperties":false}}},` +
	`"required":["entries"],"additionalProperties":false}`

// UpdatePlan returns the tool update_plan.
func UpdatePlan() Tool {
	return Tool{
		Definition: Definition{
			Name: "update_plan",
			Description: "Show the user your plan for work of several steps, and how far it is. Each call replaces the whole plan. " +
				"Call it when you begin, and when the status of an entry changes. At most 100 entries.",
			Schema: json.RawMessage(planSchema),
		},
		Kind: KindThink, ReadOnly: true,
		Describe: func(json.RawMessage) Description { return Description{Title: "Update the plan"} },
		Run:      with(func(_ context.Context, in planInput, _ int) (Result, error) { return newPlan(in.Entries), nil }),
	}
}

func newPlan(plan []PlanEntry) Result {
	if len(plan) > maxPlan {
		return Failed("a plan has at most %d entries, not %d", maxPlan, len(plan))
	}
	open := 0
	for i, e := range plan {
		switch {
		case strings.TrimSpace(e.Content) == "":
			return Failed("entries[%d].content is empty", i)
		case len(e.Content) > maxPlanEntry:
			return Failed("entries[%d].content has %d bytes, the limit is %d", i, len(e.Content), maxPlanEntry)
		case e.Status != "completed":
			open++
		}
	}
	entries := "entries"
	if len(plan) == 1 {
		entries = "entry"
	}
	r := text("The plan has %d %s, %d of them open.", len(plan), entries, open)
	r.Plan = append([]PlanEntry{}, plan...) // not nil: an empty plan replaces the one before
	return r
}
